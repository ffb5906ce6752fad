using System;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Weave.Runtime
{
    /// <summary>The hooks of ordinary calls, and how a thread comes by its lane.</summary>
    [DebuggerStepThrough]
    internal static class Recorder
    {
        /// <summary>Failures of hooks that had no lane to count them in, until the header has them.</summary>
        internal static long Failed;
        /// <summary>The same of hooks for which the stack was short.</summary>
        internal static long Short;

        [ThreadStatic]
        private static Lane current;

        internal static void Enter(int id)
        {
            // The clock last: the look-up is not time of the method.
            Lane lane = current ?? Make();
            lane.Record(Format.Enter, id, Clock.Now());
        }

        /// <summary>The same for an outermost sampled call.</summary>
        internal static void Outermost(int id, int weight)
        {
            Lane lane = current ?? Make();
            lane.Outermost(id, weight, Clock.Now());
        }

        internal static void Exit(int id)
        {
            long now = Clock.Now();
            Lane lane = current ?? Make();
            lane.Record(Format.Exit, id, now);
        }

        internal static void Error(Exception e, int id)
        {
            long now = Clock.Now();
            Lane lane = current ?? Make();
            lane.Error(e, id, now);
        }

        internal static void Count(int id)
        {
            Lane lane = current ?? Make();
            lane.Count(id);
        }

        internal static void Start(int id)
        {
            Lane lane = current ?? Make();
            lane.Start(id);
        }

        internal static void Stop(int id, bool failed)
        {
            long now = Clock.Now();
            Lane lane = current ?? Make();
            lane.Stop(id, now, failed);
        }

        internal static void StopTold(int id, bool failed, long slow)
        {
            long now = Clock.Now();
            Lane lane = current ?? Make();
            lane.StopTold(id, now, failed, slow);
        }

        /// <summary>Records an object; as <see cref="Format.Other"/>: what its <c>ToString</c> says.</summary>
        internal static void Value(object v, int kind, int place, int limit, string mask, int id)
        {
            if (mask != null)
            {
                Secrets.Hold(mask, 0, id); // first of all: the trace may begin next
            }
            Lane lane = current ?? Make();
            if (lane != Runtime.Lane.Mute)
            {
                lane.Value(v, kind, place, limit, mask, id);
            }
        }

        /// <summary>This thread's lane; <see cref="Lane.Mute"/> where nothing is to be recorded.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        internal static Lane Lane()
        {
            return current ?? Make();
        }

        /// <summary>The same, null where this thread has none yet.</summary>
        internal static Lane Existing()
        {
            return current;
        }

        /// <summary>A hook failed.</summary>
        internal static void Fails()
        {
            Interlocked.Increment(ref Failed);
            Trace.Adrift();
        }

        /// <summary>From here on hooks that this thread calls do nothing. Returns what <see cref="Restore"/> takes.</summary>
        internal static Lane Mute()
        {
            Lane lane = current;
            current = Runtime.Lane.Mute;
            return lane;
        }

        /// <summary>Ends <see cref="Mute"/>.</summary>
        internal static void Restore(Lane lane)
        {
            current = lane;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static Lane Make()
        {
            Lane lane = null;
            bool room = true;
            long error = LastError.Get();
            // An abort of the thread, which some hosts know, waits for the end of a finally.
            try
            {
            }
            finally
            {
                current = Runtime.Lane.Mute; // what is called from here on may be woven
                try
                {
                    room = Stack.HasRoom();
                    lane = Trace.Lane(room);
                    if (lane != null && lane != Runtime.Lane.Mute)
                    {
                        lane.Within = Contexts.Used == null ? null : Contexts.Used.Current;
                    }
                }
                catch (Exception)
                {
                    lane = null;
                }
                current = lane; // null: the next hook tries again
                if (lane == null)
                {
                    Interlocked.Increment(ref room ? ref Failed : ref Short);
                    Trace.Adrift();
                    lane = Runtime.Lane.Mute;
                }
                LastError.Set(error);
            }
            return lane;
        }
    }
}
