using System;
using System.Diagnostics;
using System.Threading;

namespace Weave.Runtime
{
    /// <summary>
    /// What of texts is not written. Rules say it by what woven code calls where a method begins (<see cref="Values.Hold"/>), in front of
    /// anything that the library writes of the call; the user says it by settings. What is known holds for all of the process, whichever
    /// method an exception leaves.
    /// </summary>
    [DebuggerStepThrough]
    internal static class Secrets
    {
        /// <summary>What <see cref="Values.Hold"/> takes: messages of exceptions that leave this method are left out.</summary>
        private const int Silent = 1;
        /// <summary>The mask holds for values of all calls, too.</summary>
        private const int Everywhere = 2;
        /// <summary>Messages, thread names, the command line are left out.</summary>
        private const int Messages = 4;
        private const int Threads = 8;
        private const int CommandLine = 16;
        private const int LeftOut = Messages | Threads | CommandLine;
        /// <summary>Beyond so many masks texts are left out.</summary>
        private const int Most = 64;
        private const int CommandLimit = 4000;

        private static readonly Gate gate = new Gate();
        /// <summary>Hold for messages, thread names and the command line. All arrays here are replaced as a whole.</summary>
        private static string[] masks = new string[0];
        /// <summary>Those of them that hold for all values as well.</summary>
        private static string[] everywhere = new string[0];
        private static int without = (Settings.IsWritten("weave.trace.messages") ? 0 : Messages)
            | (Settings.IsWritten("weave.trace.threads") ? 0 : Threads) | (Settings.IsWritten("weave.trace.command") ? 0 : CommandLine);
        /// <summary>Ids of methods whose exceptions have no message, each at its place or behind it; 0 is none.</summary>
        private static int[] silent = new int[16];
        private static int silenced;
        /// <summary>Something that is to be left out could not be noted, for want of memory: so are all messages and names.</summary>
        private static volatile bool unsure;
        private static int changes;

        /// <summary>What is wrong with the user's masks, as a sentence, or null.</summary>
        internal static readonly string Complaint = UseSettings();

        /// <summary>Moves when something of this changes.</summary>
        internal static int Changes
        {
            get { return Volatile.Read(ref changes); }
        }

        /// <summary>The masks that hold for all values.</summary>
        internal static string[] OfValues
        {
            get { return Volatile.Read(ref everywhere); }
        }

        internal static bool Names
        {
            get { return (Volatile.Read(ref without) & Threads) == 0; }
        }

        private static string UseSettings()
        {
            string said = Settings.Masks();
            if (said == null)
            {
                return null;
            }
            try
            {
                Learn(Masks.Of(said), true);
                return null;
            }
            catch (Masks.Wrong wrong)
            {
                Learn(Masks.All, true);
                return "weave.trace.mask: " + wrong.Fault + "; all texts are masked";
            }
        }

        /// <summary>What <see cref="Values.Hold"/> says.</summary>
        internal static void Hold(string mask, int how, int id)
        {
            if (IsHeld(mask, how, id))
            {
                return;
            }
            long error = LastError.Get();
            try
            {
                if (mask != null)
                {
                    Learn(mask, (how & Everywhere) != 0);
                }
                if ((how & LeftOut) != 0)
                {
                    LeaveOut(how & LeftOut);
                }
                if ((how & Silent) != 0)
                {
                    Silence(id);
                }
            }
            catch (Exception)
            {
                unsure = true;
            }
            LastError.Set(error);
        }

        private static bool IsHeld(string mask, int how, int id)
        {
            bool held = mask == null;
            string[] all = (how & Everywhere) != 0 ? OfValues : Volatile.Read(ref masks);
            foreach (string known in all)
            {
                held |= ReferenceEquals(known, mask);
            }
            held |= all.Length > Most;
            held &= (how & LeftOut & ~Volatile.Read(ref without)) == 0;
            if (held && (how & Silent) != 0)
            {
                int[] ids = Volatile.Read(ref silent);
                held = ids[Place(ids, id)] == id;
            }
            return held;
        }

        private static void Learn(string mask, bool all)
        {
            if (!gate.Enter())
            {
                unsure = true;
                return;
            }
            try
            {
                if (all)
                {
                    Volatile.Write(ref everywhere, everywhere.Length < Most ? With(everywhere, mask) : new[] { Masks.All });
                }
                Volatile.Write(ref masks, With(masks, mask));
                changes++;
            }
            finally
            {
                gate.Leave();
            }
        }

        private static string[] With(string[] all, string mask)
        {
            if (all.Length > Most)
            {
                return all;
            }
            foreach (string known in all)
            {
                if (string.Equals(known, mask, StringComparison.Ordinal))
                {
                    return all;
                }
            }
            var more = new string[all.Length + 1];
            Array.Copy(all, more, all.Length);
            more[all.Length] = mask;
            return more;
        }

        private static void LeaveOut(int what)
        {
            int old;
            do
            {
                old = Volatile.Read(ref without);
            }
            while (Interlocked.CompareExchange(ref without, old | what, old) != old);
            Interlocked.Increment(ref changes);
        }

        private static void Silence(int id)
        {
            if (!gate.Enter())
            {
                unsure = true;
                return;
            }
            try
            {
                int[] all = silent;
                if (2 * silenced >= all.Length)
                {
                    var more = new int[2 * all.Length];
                    foreach (int one in all)
                    {
                        if (one != 0)
                        {
                            more[Place(more, one)] = one;
                        }
                    }
                    all = more;
                    Volatile.Write(ref silent, more);
                }
                int at = Place(all, id);
                silenced += all[at] == 0 ? 1 : 0;
                all[at] = id;
            }
            finally
            {
                gate.Leave();
            }
        }

        /// <summary>Where an id is, or would be. Those of a type follow one another.</summary>
        private static int Place(int[] all, int id)
        {
            int at = id & (all.Length - 1);
            while (all[at] != 0 && all[at] != id)
            {
                at = (at + 1) & (all.Length - 1);
            }
            return at;
        }

        /// <summary>Whether the message of an exception that leaves this method may be asked for.</summary>
        internal static bool Tells(int id)
        {
            int[] all = Volatile.Read(ref silent);
            return (Volatile.Read(ref without) & Messages) == 0 && (id == 0 || all[Place(all, id)] != id);
        }

        /// <summary>What of the command line is written, or null.</summary>
        internal static string Command()
        {
            return (Volatile.Read(ref without) & CommandLine) == 0 ? Masked(Host.Command(), CommandLimit) : null;
        }

        /// <summary>What of a text is written, of which no more than so many bytes are kept; null for nothing.</summary>
        internal static string Masked(string text, int limit)
        {
            string[] all = Volatile.Read(ref masks);
            if (text == null || all.Length > Most || unsure)
            {
                return null;
            }
            if (text.Length > limit + Mask.Window)
            {
                text = text.Substring(0, limit + Mask.Window);
            }
            return Mask.Apply(null, all, text, int.MaxValue - 1);
        }
    }
}
