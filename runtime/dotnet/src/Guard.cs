using System;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Weave.Runtime
{
    /// <summary>
    /// What the adapters of a program's own hooks call: so that what a hook throws does not reach the program, and so that hooks do
    /// not call themselves by way of woven code. It never throws, and starts no trace.
    /// </summary>
    [DebuggerStepThrough]
    public static class Guard
    {
        /// <summary>Of the failures that the error stream is told, one a hook.</summary>
        private const int MostHooks = 1000;
        private const int LongestText = 1000;

        /// <summary>This thread runs a hook.</summary>
        [ThreadStatic]
        private static bool busy;

        /// <summary>What the program has there to read when the hook is over.</summary>
        [ThreadStatic]
        private static long error;

        /// <summary>A hook begins, unless this thread runs one: then false, and the hook is not to be called.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public static bool Begin()
        {
            int system = Errno.Get(); // before anything that may change it
            if (busy)
            {
                return false;
            }
            busy = true;
            error = LastError.With(system);
            return true;
        }

        /// <summary>The hook that this thread has begun is over.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public static void End()
        {
            busy = false;
            long last = error;
            LastError.SetKept(last);
            Errno.Set((int)last);
        }

        /// <summary>The time since some moment near the process's start.</summary>
        public static long Nanoseconds()
        {
            return Clock.Now();
        }

        /// <summary>The hook of this name has thrown this.</summary>
        public static void Failed(Exception e, string hook)
        {
            long before = LastError.Get();
            try
            {
                // The runtime throws it again: it stops the thread, and is no failure of the hook.
                if (e.GetType().ToString() == "System.Threading.ThreadAbortException")
                {
                    return;
                }
                Failures.Count();
                if (Stack.HasRoom() && Failures.IsFirst(hook))
                {
                    Say(e, hook);
                }
            }
            catch (Exception)
            {
                // There is nobody to tell.
            }
            LastError.Set(before);
        }

        /// <summary>By now the hook counts as told, so that what is called here may fail in it.</summary>
        private static void Say(Exception e, string hook)
        {
            string text = e.GetType().ToString();
            try
            {
                text = text + ": " + e.Message;
            }
            catch (Exception)
            {
                // Its message is the program's code.
            }
            if (text.Length > LongestText)
            {
                text = text.Substring(0, LongestText) + "...";
            }
            bool wasBusy = busy;
            Lane lane = Switch.On ? Recorder.Mute() : null;
            busy = true;
            try
            {
                Log.Say("hook " + hook + " failed: " + text
                    + "; the program runs on, and this hook's next failures are not shown");
            }
            finally
            {
                busy = wasBusy;
                if (Switch.On)
                {
                    Recorder.Restore(lane);
                }
            }
        }

        private static class Failures
        {
            private static readonly Gate TheGate = new Gate();
            /// <summary>The hooks that the error stream was told of.</summary>
            private static readonly string[] Told = new string[MostHooks];
            private static int told;
            /// <summary>Failures that the trace's header does not have yet.</summary>
            private static long untold;

            internal static void Count()
            {
                Interlocked.Increment(ref untold);
                if (Switch.On)
                {
                    Trace.Failures(ref untold);
                }
            }

            internal static bool IsFirst(string hook)
            {
                if (!TheGate.Enter())
                {
                    return false;
                }
                try
                {
                    for (int i = 0; i < told; i++)
                    {
                        if (Told[i] == hook)
                        {
                            return false;
                        }
                    }
                    if (told == MostHooks)
                    {
                        return false;
                    }
                    Told[told++] = hook;
                    return true;
                }
                finally
                {
                    TheGate.Leave();
                }
            }
        }
    }
}
