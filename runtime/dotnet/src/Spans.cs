using System;
using System.Diagnostics;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace Weave.Runtime
{
    /// <summary>
    /// The hooks of methods whose calls are spans, in place of those of <see cref="Switched"/>: <see cref="Decide"/> in front of the call's
    /// values, <see cref="Begin"/> behind them. A span is the context of all that runs below it, until it ends.
    /// </summary>
    /// <remarks>
    /// A context goes where the program's <c>ExecutionContext</c> goes: over awaits, tasks, threads and timers. Woven code asks nobody for it:
    /// its thread is told when it changes.
    /// </remarks>
    [DebuggerStepThrough]
    public static class Spans
    {
        /// <summary>OpenTelemetry's number of what begins for another process.</summary>
        private const int Server = 2;
        /// <summary>The state of a call that is the context of what runs below it, and is not recorded.</summary>
        internal const int Quiet = 7;
        /// <summary>The call has returned, and its span goes on until its task is complete. <see cref="Modes.IsRecorded"/> holds of the first.</summary>
        private const int Staying = 13;
        private const int QuietlyStaying = 15;
        /// <summary>A value is recorded at the end of its call.</summary>
        private const int AtEnd = 1 << 10;
        /// <summary>No header that is heeded is longer: W3C's limit of a baggage.</summary>
        private const int LongestHeader = 8192;
        /// <summary>A header's name where none is meant.</summary>
        private const string NoHeader = "traceparent";

        /// <summary>Made with the first span: a program without any has no such thing, and its threads are not told of anything.</summary>
        private sealed class Flow : Contexts
        {
            internal static readonly AsyncLocal<Span> Of = new AsyncLocal<Span>(Changed);

            internal override Span Current
            {
                get { return Spans.Current; }
            }

            internal override void Resume(Lane lane, Span span, ref long call, int id)
            {
                Spans.Resume(lane, span, ref call, id);
            }

            internal override void Over(Lane lane, long call)
            {
                Spans.Over(lane, call);
            }
        }

        /// <summary>There is a span, or was one.</summary>
        private static bool Any
        {
            get { return Contexts.Used != null; }
        }

        /// <summary>
        /// Whether a call of the method <paramref name="id"/> is recorded. <c>rules</c> is what the rules say of switching, as for
        /// <see cref="Switched"/>; <c>once</c> is a word, or null: inside a call of this word no other is recorded. <c>came</c> are the
        /// headers that came in with the call (<see cref="Came(object, int, string)"/>), or null: where they say that their trace is not recorded, nothing below is.
        /// </summary>
        public static int Decide(int rules, string once, object came, int id)
        {
            int state = Switched.Decide(rules, id);
            if (state != Modes.Recorded)
            {
                return state;
            }
            try
            {
                Lane lane = Recorder.Lane();
                Span around = Current;
                var origin = came as Origin;
                Span given = origin == null ? null : origin.Given;
                Span above = given ?? around;
                if (lane.Busy || above != null && once != null && above.IsWithin(once))
                {
                    return Modes.Nothing;
                }
                object headers = origin == null ? came : origin.Came;
                Parent from = headers == null ? null : Sampler.Set.Decided(Propagators.Set.Parent(headers));
                from = from ?? (given == null ? Ambient.Around(around) : given.AsParent());
                if (from == null && around == null && Sampler.Set.Draws)
                {
                    from = Sampler.Set.Root(lane.NewIds());
                }
                bool quiet = from == null ? around != null && !around.IsRecorded : (from.Flags & Span.Sampled) == 0;
                if (quiet && from == null)
                {
                    return Modes.Nothing;
                }
                lane.From = from;
                lane.Origin = origin;
                return quiet ? Quiet : Modes.Recorded;
            }
            catch (Exception)
            {
                Recorder.Fails();
                return Modes.Nothing;
            }
        }

        /// <summary>A span of the method <paramref name="id"/> begins, as was decided. <c>kind</c> is OpenTelemetry's number of it.</summary>
        public static void Begin(int state, int kind, string once, int id)
        {
            if (state != Modes.Recorded && state != Quiet)
            {
                Switched.Begin(state, id);
                return;
            }
            try
            {
                Lane lane = Recorder.Lane();
                Span next = lane.Busy ? null : Made(lane, kind, once, id);
                if (next != null && state == Modes.Recorded)
                {
                    lane.Begin(next, id, Clock.Now());
                }
                if (next != null)
                {
                    Run(lane, next);
                }
            }
            catch (Exception)
            {
                Recorder.Fails();
            }
        }

        /// <summary>The same of a logical call, behind <see cref="Decide"/>: its first piece is what comes next, and begins the span.</summary>
        public static void Pass(int state, int kind, string once, int id)
        {
            try
            {
                if (state == Modes.Recorded || state == Quiet)
                {
                    Lane lane = Recorder.Lane();
                    if (lane.Busy)
                    {
                        return;
                    }
                    lane.Next = Made(lane, kind, once, id);
                    Ambient.Set(lane.Next.Earlier); // until its piece runs, this thread is where it was
                }
                Switched.Pass(state == Quiet ? Modes.Nothing : state, id);
            }
            catch (Exception)
            {
                Recorder.Fails();
            }
        }

        /// <summary>In front of a call's values at its end: what becomes of its span, which ends with the task that the call gives.</summary>
        public static int Leave(int state, object task, int id)
        {
            var one = task as Task;
            if (state != Modes.Recorded && state != Quiet || one == null || one.Status == TaskStatus.RanToCompletion)
            {
                return state;
            }
            try
            {
                Lane lane = Recorder.Lane();
                Span span = lane.Busy ? null : Innermost(lane, id);
                if (span == null)
                {
                    return state;
                }
                span.EndsWith = one;
                return state == Quiet ? QuietlyStaying : Staying;
            }
            catch (Exception)
            {
                Recorder.Fails();
                return state;
            }
        }

        /// <summary>Whether a call in this state has a span that goes on.</summary>
        internal static bool Stays(int state)
        {
            return state == Staying || state == QuietlyStaying;
        }

        /// <summary>The method <paramref name="id"/> returns.</summary>
        public static void Exit(int state, int id)
        {
            if (Stays(state))
            {
                Stay(state == Staying, id);
                return;
            }
            if (state != Quiet)
            {
                Switched.Exit(state, id);
            }
            End(state, id);
        }

        /// <summary>The exception <paramref name="e"/> leaves the method <paramref name="id"/>.</summary>
        public static void Error(Exception e, int state, int id)
        {
            if (state != Quiet)
            {
                Switched.Error(e, state, id);
            }
            End(state, id);
        }

        /// <summary>The name of a header of a request that came in; null where no more are asked for.</summary>
        public static string Asks(int which)
        {
            try
            {
                return Switch.On ? Propagators.Set.Asked(which) : null;
            }
            catch (Exception)
            {
                return null;
            }
        }

        /// <summary>The same for what is asked in any case.</summary>
        public static string AsksAgain(int which)
        {
            return Asks(which) ?? NoHeader;
        }

        /// <summary>What such a header says, or null, beside those <paramref name="before"/>.</summary>
        public static object Came(object before, int which, string value)
        {
            try
            {
                return value == null || !Switch.On ? before : Propagators.Set.Came(before, which, value);
            }
            catch (Exception)
            {
                return before;
            }
        }

        /// <summary>The same of a header in UTF-8.</summary>
        public static object Came(object before, int which, byte[] value)
        {
            try
            {
                bool isText = value != null && value.Length <= LongestHeader;
                return Came(before, which, isText ? Encoding.UTF8.GetString(value, 0, value.Length) : null);
            }
            catch (Exception)
            {
                return before;
            }
        }

        /// <summary>What came in with what the method <paramref name="id"/> returns is a link of its span, in front of its end.</summary>
        public static void Links(object came, int state, int id)
        {
            if (came == null || state != Modes.Recorded)
            {
                return;
            }
            try
            {
                Parent parent = Propagators.Set.Parent(came);
                Lane lane = Recorder.Lane();
                if (parent != null && !lane.Busy)
                {
                    lane.Value(Span.Link(parent.Traceparent(), parent.State), Format.Text, Span.LinkPlace | AtEnd, Span.LongestLink, null, id);
                }
            }
            catch (Exception)
            {
                Recorder.Fails();
            }
        }

        /// <summary>The name of a header that goes out with a request to another service.</summary>
        public static string Sends(int which)
        {
            try
            {
                return Switch.On ? Propagators.Set.Sent(which) ?? NoHeader : NoHeader;
            }
            catch (Exception)
            {
                return NoHeader;
            }
        }

        /// <summary>What it says; null where there is nothing to send.</summary>
        public static string Header(int which)
        {
            try
            {
                Span span = ToSend();
                return span == null ? null : Propagators.Set.Value(which, span);
            }
            catch (Exception)
            {
                return null;
            }
        }

        /// <summary>The same where nothing is sent without a value: null then.</summary>
        public static string Sends(int which, object value)
        {
            return value == null ? null : Sends(which);
        }

        /// <summary>What such a header says, in UTF-8; null where there is nothing to send.</summary>
        public static byte[] Bytes(int which)
        {
            try
            {
                string text = Header(which);
                return text == null ? null : Encoding.UTF8.GetBytes(text);
            }
            catch (Exception)
            {
                return null;
            }
        }

        /// <summary>The id of the current trace in hexadecimal digits, or null.</summary>
        public static string TraceId()
        {
            Span span = Current;
            return span == null ? null : span.Traceparent().Substring(3, 32);
        }

        /// <summary>The id of the current span in hexadecimal digits, or null.</summary>
        public static string SpanId()
        {
            Span span = Current;
            return span == null ? null : span.Traceparent().Substring(36, 16);
        }

        /// <summary>The span in which this flow of the program runs; null where there is none, or it is over.</summary>
        internal static Span Current
        {
            get
            {
                Span span = Any ? Flow.Of.Value : null;
                return span == null || span.Over ? null : span;
            }
        }

        /// <summary>That of a logical call which begins next, else the current one.</summary>
        internal static Span ToSend()
        {
            try
            {
                return Any && Switch.On ? Recorder.Lane().Next ?? Current : null;
            }
            catch (Exception)
            {
                return null;
            }
        }

        /// <summary>A span that begins here. A server's is no other ruled span's, unless its caller says so.</summary>
        private static Span Made(Lane lane, int kind, string once, int id)
        {
            Span around = Current;
            Parent from = lane.From;
            Origin origin = lane.Origin;
            lane.From = null;
            lane.Origin = null;
            Span parent = from != null || kind == Server && around != null && !around.IsTold ? null : around;
            Span given = origin == null ? null : origin.Given;
            Ids ids = lane.NewIds();
            if (from != null)
            {
                ids.TraceHigh = from.TraceHigh;
                ids.TraceLow = from.TraceLow;
            }
            else if (parent != null)
            {
                ids.TraceHigh = parent.TraceHigh;
                ids.TraceLow = parent.TraceLow;
            }
            object earlier = Ambient.Current;
            object known = Ambient.Begin(parent, from, ref ids);
            Contexts.Used = Contexts.Used ?? new Flow();
            return new Span(given ?? parent, from, ids, once, id, lane.ThreadNumber)
            {
                Before = around,
                Known = known,
                Earlier = earlier,
                Links = origin == null ? null : origin.All,
            };
        }

        /// <summary>This flow of the program runs in another context from now on, or in none.</summary>
        internal static void Run(Lane lane, Span next)
        {
            Contexts.Used = Contexts.Used ?? new Flow();
            lane.Within = next; // it knows: it is not told
            Flow.Of.Value = next;
        }

        /// <summary>The same where the trace is to be told.</summary>
        internal static void Move(Span next)
        {
            Contexts.Used = Contexts.Used ?? new Flow();
            Flow.Of.Value = next;
        }

        /// <summary>A method begins that takes contexts, and runs in this one from here on, or in none but its own yet.</summary>
        internal static Turn Open(Span given)
        {
            Lane lane = Recorder.Lane();
            if (lane.Busy)
            {
                return null;
            }
            lane.Turn = new Turn(lane.Turn, Any ? Flow.Of.Value : null, Ambient.Current);
            Enter(lane, given);
            return lane.Turn;
        }

        /// <summary>It ends, and what it has taken is over.</summary>
        internal static void Close(Turn turn)
        {
            Lane lane = Recorder.Lane();
            if (lane.Busy || lane.Turn == null || !lane.Turn.IsWithin(turn))
            {
                return;
            }
            lane.Turn = turn.Outer;
            Span span = Any ? Flow.Of.Value : null;
            while (span != null && span != turn.Before && !(span.IsTaken && span.Turn != null && span.Turn.IsWithin(turn)))
            {
                span = span.Before; // its end was lost
            }
            if (span != null && span != turn.Before)
            {
                Ambient.Leave(turn.Earlier);
                Move(turn.Before);
            }
        }

        /// <summary>This flow goes on in this context, or in none but its own, until it takes another one or the method ends that takes it.</summary>
        internal static void Take(Span given)
        {
            Lane lane = Recorder.Lane();
            if (lane.Busy)
            {
                return;
            }
            Span first = Any ? Flow.Of.Value : null;
            Span span = first;
            object earlier = null;
            // What an async method takes has no turn: it is over with the method's own flow.
            while (span != null && span.IsTaken && (span.Turn == lane.Turn || span.Turn != null && span.Turn.IsWithin(lane.Turn)))
            {
                earlier = span.Earlier;
                span = span.Before;
            }
            if (span != first)
            {
                Ambient.Leave(earlier);
                Move(span);
            }
            Enter(lane, given);
        }

        private static void Enter(Lane lane, Span given)
        {
            if (given == null)
            {
                return;
            }
            Span taken = given.Taken(lane.ThreadNumber, lane.Turn);
            taken.Before = Any ? Flow.Of.Value : null;
            taken.Earlier = Ambient.Current;
            taken.Known = Ambient.Take(given);
            Move(taken);
        }

        /// <summary>A library's span has ended.</summary>
        internal static void LeaveTold(Span over, Span before)
        {
            if (Flow.Of.Value == over)
            {
                Flow.Of.Value = before;
            }
        }

        /// <summary>The first piece of a logical call that is a span runs; it is recorded or not.</summary>
        private static void Resume(Lane lane, Span span, ref long call, int id)
        {
            Ambient.Set(span.Known);
            LogicalCalls.ResumeSpan(lane, span, ref call, id);
            Run(lane, span);
        }

        /// <summary>The innermost span of this method on this thread, or null.</summary>
        private static Span Innermost(Lane lane, int id)
        {
            Span span = Any ? Flow.Of.Value : null;
            while (span != null && span.Thread == lane.ThreadNumber && (span.Method != id || span.IsTaken))
            {
                span = span.Before;
            }
            return span != null && span.Thread == lane.ThreadNumber ? span : null;
        }

        /// <summary>The thread leaves a span that goes on, and those within it whose ends were lost.</summary>
        private static void Stay(bool recorded, int id)
        {
            try
            {
                Lane lane = Recorder.Lane();
                Span span = lane.Busy ? null : Innermost(lane, id);
                if (span == null)
                {
                    return;
                }
                Later results = lane.Results;
                lane.Results = null;
                Task task = span.EndsWith;
                bool again = span.IsRecorded && span.Segment != lane.Segments;
                if (recorded)
                {
                    lane.Stay(span, id, Clock.Now());
                }
                for (Span one = Flow.Of.Value; one != null && one != span;)
                {
                    Span next = one.Before;
                    if (!one.IsTold && !one.IsTaken)
                    {
                        one.End();
                    }
                    one = next;
                }
                Ambient.Set(span.Earlier);
                Run(lane, span.Before);
                if (again)
                {
                    lane.Change(id);
                }
                if (task != null)
                {
                    new Stayed(task, span, results, recorded).Start();
                }
            }
            catch (Exception)
            {
                Recorder.Fails();
            }
        }

        /// <summary>A span that has outlived its method ends with its task.</summary>
        private sealed class Stayed : Following
        {
            private readonly Span span;
            private readonly Later results;
            private readonly bool recorded;

            internal Stayed(Task task, Span span, Later results, bool recorded)
                : base(task)
            {
                this.span = span;
                this.results = results;
                this.recorded = recorded;
            }

            protected override void End(Task _)
            {
                try
                {
                    long now = Clock.Now();
                    Lane lane = Recorder.Lane();
                    int id = span.Method;
                    if (recorded && !lane.Busy)
                    {
                        bool failed = Task.Status != TaskStatus.RanToCompletion;
                        if (!failed)
                        {
                            Later.RecordAll(results, id);
                        }
                        Exception failure = failed ? Followed.Failure(Task) : null;
                        lane.Logical(failed ? Lane.What.CompleteFailed : Lane.What.Complete, id, now, span.Id, failure);
                    }
                    object known = span.Known;
                    object earlier = span.Earlier;
                    Span before = span.Before;
                    bool isInside = Flow.Of.Value == span;
                    span.End();
                    Ambient.Finish(known, earlier);
                    if (isInside)
                    {
                        Run(lane, before);
                        lane.Change(id);
                    }
                }
                catch (Exception)
                {
                    Recorder.Fails();
                }
            }
        }

        /// <summary>The innermost span of this method ends, and those within it whose ends were lost.</summary>
        private static void End(int state, int id)
        {
            if (!Any || state != Modes.Recorded && state != Quiet)
            {
                return;
            }
            try
            {
                Lane lane = Recorder.Lane();
                Span over = Innermost(lane, id);
                if (!lane.Busy && over != null)
                {
                    End(lane, over);
                }
            }
            catch (Exception)
            {
                Recorder.Fails();
            }
        }

        /// <summary>A logical call is over.</summary>
        private static void Over(Lane lane, long call)
        {
            try
            {
                Span over = Flow.Of.Value;
                while (over != null && over.Call != call)
                {
                    over = over.Before;
                }
                if (over != null)
                {
                    End(lane, over);
                }
            }
            catch (Exception)
            {
                Recorder.Fails();
            }
        }

        private static void End(Lane lane, Span over)
        {
            Span outer = over.Before;
            bool again = over.IsRecorded && (over.Segment != lane.Segments || over.Call != 0);
            object known = over.Known;
            object earlier = over.Earlier;
            for (Span one = Flow.Of.Value; one != null && one != outer;)
            {
                Span next = one.Before;
                if (one == over || !one.IsTold && !one.IsTaken)
                {
                    one.End();
                }
                one = next;
            }
            Ambient.End(known, earlier);
            Run(lane, outer);
            if (again)
            {
                // The trace may have been told that the thread runs in it: where a segment or a later piece of it began.
                lane.Change(over.Method);
            }
        }

        /// <summary>The platform has brought this thread into another context.</summary>
        private static void Changed(AsyncLocalValueChangedArgs<Span> args)
        {
            // What leaves this ends the process.
            try
            {
                Lane lane = Recorder.Existing();
                Span span = args.CurrentValue;
                if (span != null && span.Over)
                {
                    span = null; // who holds it is not the request: a timer, what was started and forgotten
                }
                if (lane != null && lane.Within != span && !lane.Busy)
                {
                    int id = (span ?? lane.Within).Method;
                    lane.Within = span;
                    lane.Change(id);
                }
            }
            catch (Exception)
            {
                Recorder.Fails();
            }
        }
    }
}
