using System;
using System.Diagnostics;
using System.Threading.Tasks;

namespace Weave.Runtime
{
    /// <summary>
    /// The hooks of calls that run in pieces. The state machine's field is all they know: 0, no call yet; -1, the call
    /// has ended, or is not recorded; else the call's number, whether it has run, and whether it runs now. Of one that is
    /// sampled it also has for how many calls it stands: each of its pieces decides about the calls below it. One that was
    /// not taken stands for none. Instead of a number it has the tree that its thread was in before the piece that runs.
    /// </summary>
    [DebuggerStepThrough]
    internal static class LogicalCalls
    {
        internal const long Ended = -1;
        private const long Runs = 1;
        private const long HasRun = 2;
        private const long IsSampled = 4;
        private const int NumberShift = 3;
        /// <summary>Of sampled calls: the weight is where others have their number, and this above it.</summary>
        private const int SampledShift = 27;
        /// <summary>36 bits: when they are used up, numbers of sampled calls begin anew.</summary>
        private const long MostSampled = long.MaxValue >> SampledShift;

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

        /// <summary>The field of a call that can be switched, and about which this was decided (<see cref="Modes"/>).</summary>
        internal static long New(int state)
        {
            if (state == Modes.Nothing)
            {
                return Ended;
            }
            int weight = Modes.Weight(state);
            return weight == 0 && state != Modes.Passed ? 0 : IsSampled | (long)weight << NumberShift;
        }

        /// <summary>A call with such a field begins, and does not run yet.</summary>
        internal static void BeginNew(ref long call, int id)
        {
            int weight = Weight(call);
            if (weight > 0)
            {
                Lane lane = Recorder.Lane();
                long number = NextSampled(lane);
                call |= number << SampledShift;
                lane.Logical(Lane.What.Begin, id, Clock.Now(), number, null, weight);
            }
            else if (call == 0)
            {
                Begin(ref call, id);
            }
        }

        private static int Weight(long call)
        {
            return (call & IsSampled) == 0 ? 0 : (int)(call >> NumberShift) & Modes.MostWeight;
        }

        /// <summary>Whether a call is sampled and was not taken.</summary>
        private static bool IsPassed(long call)
        {
            return (call & (IsSampled | (long)Modes.MostWeight << NumberShift)) == IsSampled;
        }

        private static long Number(long call)
        {
            return call >> ((call & IsSampled) == 0 ? NumberShift : SampledShift);
        }

        private static long NextSampled(Lane lane)
        {
            long number;
            do
            {
                number = lane.NextCall() & MostSampled;
            }
            while (number == 0);
            return number;
        }

        private static void ResumeSampled(ref long call, Lane lane, int id)
        {
            long state = call;
            int weight = Weight(state);
            if (weight > 0)
            {
                bool first = (state & HasRun) == 0;
                if (Number(state) == 0)
                {
                    state |= NextSampled(lane) << SampledShift;
                }
                call = state | HasRun | Runs;
                lane.Resume(first ? Format.First : 0, id, Number(state), weight);
            }
            else if ((state & Runs) == 0)
            {
                call = IsSampled | Runs | (long)(lane.Tree + 1) << SampledShift;
                lane.Tree = Lane.PassedTree;
            }
        }

        /// <summary>A call that was not taken leaves this thread, and is then this.</summary>
        private static void LeavePassed(ref long call, long then)
        {
            long state = call;
            call = then;
            if ((state & Runs) != 0)
            {
                Recorder.Lane().Tree = (int)Number(state) - 1;
            }
        }

        /// <summary>A piece that runs is about to end: what its thread calls from now on is not below it.</summary>
        private static Lane Leave(long state)
        {
            Lane lane = Recorder.Lane();
            if ((state & (IsSampled | Runs)) == (IsSampled | Runs))
            {
                lane.Close(Number(state));
            }
            return lane;
        }

        internal static void Resume(ref long call, int id)
        {
            Lane lane = Recorder.Lane();
            long state = call;
            if (state == Ended || lane.Busy)
            {
                return;
            }
            if ((state & IsSampled) != 0)
            {
                ResumeSampled(ref call, lane, id);
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

        /// <summary>The first piece of a call that is a span, if it is recorded.</summary>
        internal static void ResumeSpan(Lane lane, Span span, ref long call, int id)
        {
            if (call == Ended || lane.Busy)
            {
                return;
            }
            span.Call = lane.NextCall();
            call = span.Call << NumberShift | HasRun | Runs;
            lane.Begin(span, id, Clock.Now(), span.Call);
        }

        internal static bool IsSuspended(long call)
        {
            return call > 0 && (call & Runs) == 0;
        }

        internal static void Suspend(ref long call, int id)
        {
            long state = call;
            if (IsPassed(state))
            {
                LeavePassed(ref call, IsSampled);
                return;
            }
            long now = Clock.Now();
            if (state > 0 && (state & Runs) != 0)
            {
                call = state & ~Runs;
                Leave(state).Record(Format.Exit, id, now);
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
            long state = call;
            if (IsPassed(state))
            {
                LeavePassed(ref call, Ended);
                return;
            }
            long now = Clock.Now();
            if (state > 0)
            {
                call = Ended;
                Lane.What what = (state & Runs) != 0 ? Lane.What.End : Lane.What.Complete;
                Lane lane = Leave(state);
                lane.Logical(what, id, now, Number(state), null, Weight(state));
                Contexts used = Contexts.Used;
                if (used != null)
                {
                    used.Over(lane, Number(state));
                }
            }
        }

        internal static void Fail(Exception e, ref long call, int id)
        {
            long state = call;
            if (IsPassed(state))
            {
                LeavePassed(ref call, Ended);
                return;
            }
            long now = Clock.Now();
            if (state > 0)
            {
                call = Ended;
                Lane.What what = (state & Runs) != 0 ? Lane.What.Fail : Lane.What.CompleteFailed;
                Lane lane = Leave(state);
                lane.Logical(what, id, now, Number(state), e, Weight(state));
                Contexts used = Contexts.Used;
                if (used != null)
                {
                    used.Over(lane, Number(state));
                }
            }
        }
    }
}
