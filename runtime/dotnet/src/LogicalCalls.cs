using System;
using System.Diagnostics;
using System.Threading.Tasks;

namespace Weave.Runtime
{
    /// <summary>
    /// The hooks of calls that run in pieces. The state machine's field is all they know: 0, no call yet; -1, the call
    /// has ended, or is not recorded; else the call's number, whether it has run, and whether it runs now.
    /// </summary>
    [DebuggerStepThrough]
    internal static class LogicalCalls
    {
        internal const long Ended = -1;
        private const long Runs = 1;
        private const long HasRun = 2;
        private const int NumberShift = 2;

        internal static void Begin(ref long call, int id)
        {
            Lane lane = Recorder.Lane();
            if (lane.Busy)
            {
                return;
            }
            long number = lane.NextCall();
            call = number << NumberShift;
            lane.Logical(Lane.What.Begin, id, Clock.Now(), number, null);
        }

        internal static void Resume(ref long call, int id)
        {
            Lane lane = Recorder.Lane();
            long state = call;
            if (state == Ended || lane.Busy)
            {
                return;
            }
            bool first = (state & HasRun) == 0;
            if (state == 0)
            {
                state = lane.NextCall() << NumberShift;
            }
            call = state | HasRun | Runs;
            lane.Resume(first ? Format.First : 0, id, Clock.Now(), state >> NumberShift);
        }

        internal static bool IsSuspended(long call)
        {
            return call > 0 && (call & Runs) == 0;
        }

        internal static void Suspend(ref long call, int id)
        {
            long now = Clock.Now();
            long state = call;
            if (state > 0 && (state & Runs) != 0)
            {
                call = state & ~Runs;
                Recorder.Lane().Record(Format.Exit, id, now);
            }
        }

        internal static void Moved(bool more, ref long call, int id)
        {
            if (more)
            {
                Suspend(ref call, id);
            }
            else
            {
                End(ref call, id);
            }
        }

        internal static void Follow(Task task, ref long call, int id)
        {
            long now = Clock.Now();
            Lane lane = Recorder.Lane();
            long state = call;
            if (lane.Busy)
            {
                return;
            }
            Later results = lane.Results;
            lane.Results = null;
            if (state <= 0)
            {
                return;
            }
            call = Ended;
            long number = state >> NumberShift;
            if (task != null && !task.IsCompleted)
            {
                // In front of what may end it, on another thread, at once.
                lane.Record(Format.Exit, id, now);
                new Followed(task, results, number, id).Start();
            }
            else if (task != null && task.Status != TaskStatus.RanToCompletion)
            {
                lane.Logical(Lane.What.Fail, id, now, number, Followed.Failure(task));
            }
            else
            {
                Later.RecordAll(results, id);
                lane.Logical(Lane.What.End, id, now, number, null);
            }
        }

        internal static void End(ref long call, int id)
        {
            long now = Clock.Now();
            long state = call;
            if (state > 0)
            {
                call = Ended;
                Recorder.Lane().Logical(
                    (state & Runs) != 0 ? Lane.What.End : Lane.What.Complete, id, now, state >> NumberShift, null);
            }
        }

        internal static void Fail(Exception e, ref long call, int id)
        {
            long now = Clock.Now();
            long state = call;
            if (state > 0)
            {
                call = Ended;
                Recorder.Lane().Logical(
                    (state & Runs) != 0 ? Lane.What.Fail : Lane.What.CompleteFailed, id, now, state >> NumberShift, e);
            }
        }
    }
}
