using System;
using System.IO;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Weave.Runtime
{
    /// <summary>The life of this process's trace: it is opened by the first hook and ended by the process's exit.</summary>
    internal static class Trace
    {
        /// <summary>How long the end of the process waits for a start in another thread, and for symbols that are still being copied, in milliseconds.</summary>
        private const int Patience = 2000;

        /// <summary>With fewer that the process may still open there is no trace.</summary>
        private const int SpareFiles = 32;

        private static readonly Gate TheGate = new Gate();
        /// <summary>Somebody has said that the trace cannot grow.</summary>
        private static int stopped;
        private static volatile bool tried;
        /// <summary>Null if there is no trace.</summary>
        private static volatile Store store;
        /// <summary>What goes beside the program has started, or could not.</summary>
        private static volatile bool accompanied;
        private static volatile Symbols symbols;
        /// <summary>Null if there are no samples.</summary>
        private static Meter meter;

        /// <summary>
        /// A lane for this thread; <see cref="Runtime.Lane.Mute"/> if there is no trace; null if the trace is not open yet: to open
        /// the trace, the thread needs room on its stack.
        /// </summary>
        internal static Lane Lane(bool room)
        {
            if (!tried)
            {
                if (!room || !TheGate.Enter())
                {
                    return null;
                }
                string message = null;
                bool mine = !tried;
                try
                {
                    if (mine)
                    {
                        message = HasFiles() ? Open() : null;
                        if (store != null)
                        {
                            Listen(); // before others can record: they may end the process next
                        }
                    }
                }
                finally
                {
                    tried = true;
                    TheGate.Leave();
                }
                if (mine)
                {
                    // Not before the gate is open: this may run the program's code.
                    Log.Say(message);
                    if (store != null)
                    {
                        Accompany(store);
                    }
                }
            }
            Store s = store;
            return s == null ? Runtime.Lane.Mute : Mine(s);
        }

        /// <summary>A method of its own: where there is no trace, the assembly with threads need not be opened.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        private static Lane Mine(Store s)
        {
            return s.Lane(Thread.CurrentThread);
        }

        /// <summary>Null if there is no trace, or none yet.</summary>
        internal static Store Store
        {
            get { return store; }
        }

        /// <summary>Something can be switched.</summary>
        internal static void Accompany(Store s, Companion companion)
        {
            if (Host.IsCollectible)
            {
                return;
            }
            s.Companion = companion;
            s.Header.SetControlled();
            Symbols all = symbols;
            if (all != null)
            {
                all.Wake(); // else they look for it when they begin
            }
            s.Wake();
        }

        /// <summary>Counts what hooks without a lane have lost, if there is a trace already.</summary>
        internal static void Adrift()
        {
            Store s = store;
            if (s != null)
            {
                s.Adrift();
            }
        }

        /// <summary>Counts failures of a program's own hooks, if there is a trace already; else the number stays.</summary>
        internal static void Failures(ref long untold)
        {
            Store s = store;
            if (s != null)
            {
                s.Header.AddFailures(Interlocked.Exchange(ref untold, 0));
            }
        }

        /// <summary>Looks whether there is more code, where nothing tells the library of it.</summary>
        internal static void Look()
        {
            Symbols s = symbols;
            if (s != null && Host.IsCollectible)
            {
                s.Look();
            }
        }

        /// <summary>Says so, once, if it was the disk that stopped the file and not its limit.</summary>
        internal static void GrowthStopped(Store s)
        {
            string trouble = s.Trouble;
            if (trouble != null && Interlocked.Exchange(ref stopped, 1) == 0)
            {
                Log.Say("the trace cannot grow: " + trouble + "; what finds no room in it is counted as lost");
            }
        }

        /// <summary>
        /// Whether a trace leaves the program enough files to open. The assemblies that a trace needs are open files, too, so this comes
        /// before the first of them.
        /// </summary>
        private static bool HasFiles()
        {
            if (Posix.HasFiles(SpareFiles))
            {
                return true;
            }
            if (Settings.LogFile() == null)
            {
                Posix.WriteError("weave: no trace is written: the process may open too few files (ulimit -n); the program runs on without it");
            }
            return false;
        }

        /// <summary>Returns what there is to say, or null.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        private static string Open()
        {
            long pid = Host.Pid();
            string path = "";
            TraceFile file = null;
            try
            {
                var settings = new Settings(pid);
                path = settings.Path;
                string refusal = settings.Refusal();
                if (refusal != null)
                {
                    return refusal;
                }
                if (!BitConverter.IsLittleEndian)
                {
                    throw new IOException("traces are little-endian, and this host is not");
                }
                settings.LimitBySurroundings();
                file = TraceFile.Create(path, settings.Limit);
                store = new Store(file, settings, pid, Secrets.Command());
                string trouble = settings.Keep > 0 ? file.Keep(settings.Pattern, settings.Keep) : null;
                string name = Path.GetFileName(path);
                string renamed = !file.IsRenamed ? null : name + " exists, so this run records to " + Path.GetFileName(file.Path)
                    + " (%p or %t in WEAVE_TRACE keep runs apart)";
                // What is not wrong is told in the trace: a program's error stream may be read by another.
                store.Header.SetNotes(Lines("", settings.LimitNote, renamed));
                return Lines("weave: ", settings.Complaint, Secrets.Complaint, Propagators.Set.Complaint, Sampler.Set.Complaint, trouble);
            }
            catch (Exception e)
            {
                if (file != null)
                {
                    Remove(file.Path);
                }
                return "cannot write the trace " + path + ": " + TraceFile.Reason(e) + "; the program runs on without it";
            }
        }

        /// <summary>What is not null, each in a line.</summary>
        /// <param name="head">What all lines but the first begin with.</param>
        private static string Lines(string head, params string[] some)
        {
            string all = null;
            foreach (string one in some)
            {
                all = one == null ? all : all == null ? one : all + Environment.NewLine + head + one;
            }
            return all;
        }

        private static void Remove(string path)
        {
            try
            {
                File.Delete(path);
            }
            catch (Exception)
            {
                // An empty file stays.
            }
        }

        /// <summary>Has the process's end told. A copy of the library that can be unloaded is not held by that: its trace only does not say when it ended.</summary>
        private static void Listen()
        {
            if (Host.IsCollectible)
            {
                return;
            }
            try
            {
                AppDomain domain = AppDomain.CurrentDomain;
                domain.ProcessExit += End;
                if (!domain.IsDefaultAppDomain())
                {
                    domain.DomainUnload += End;
                }
                domain.UnhandledException += Unhandled;
            }
            catch (Exception)
            {
                // Only the mark is missing.
            }
        }

        /// <summary>Starts what goes beside the program.</summary>
        private static void Accompany(Store s)
        {
            try
            {
                symbols = new Symbols(s);
                if (Host.IsCollectible)
                {
                    symbols.Start();
                    return;
                }
                s.Start();
                symbols.Start();
                if (s.Interval > 0)
                {
                    meter = new Meter(s, s.Interval);
                    meter.Start();
                }
            }
            catch (Exception)
            {
                // The trace is whole all the same; names can be given to the reader.
            }
            finally
            {
                accompanied = true;
            }
        }

        /// <summary>
        /// No fault block runs of the methods that the exception would leave: the trace says that they have ended. The
        /// handlers of the program's own may still run.
        /// </summary>
        private static void Unhandled(object sender, UnhandledExceptionEventArgs e)
        {
            if (e.IsTerminating)
            {
                Recorder.Lane().Unhandled(e.ExceptionObject as Exception, Clock.Now());
                End(sender, e);
            }
        }

        private static void End(object sender, EventArgs e)
        {
            Lane lane = Recorder.Mute();
            try
            {
                long until = Clock.Now() + Patience * 1000000L;
                while (!accompanied && Clock.Now() < until)
                {
                    Thread.Sleep(1);
                }
                symbols.Wait(Patience);
                if (meter != null)
                {
                    meter.Last();
                }
                store.End();
                GrowthStopped(store);
            }
            catch (Exception)
            {
                // Only the mark is missing.
            }
            finally
            {
                Recorder.Restore(lane);
            }
        }
    }
}
