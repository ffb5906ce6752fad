using System.Collections.Generic;
using System.Threading.Tasks;

namespace Weave.Runtime
{
    /// <summary>A span, and so the context of what runs below it. Its ids stay; when it ends it lets go of the spans around it.</summary>
    internal sealed class Span
    {
        /// <summary>Flags of a <c>traceparent</c>: the trace is recorded, and its id is random.</summary>
        internal const int Sampled = 1;
        internal const int Random = 2;
        /// <summary>Beside these, in the trace: the parent is of another process.</summary>
        internal const int Remote = 1 << 8;
        /// <summary>A BEGIN escape follows.</summary>
        private const int IsBegun = 1 << 9;

        internal readonly long TraceHigh;
        internal readonly long TraceLow;
        internal readonly long Id;
        /// <summary>0: it begins a trace.</summary>
        private readonly long parentId;
        private readonly int flags;
        /// <summary>Within this process, as long as this span is open; null where it begins what this process does.</summary>
        private Span parent;
        /// <summary>What came in beside the parent, unread.</summary>
        internal readonly string State;
        internal readonly string Baggage;
        /// <summary>What no other span below it may be, or null.</summary>
        private readonly string once;
        internal readonly int Method;
        /// <summary>The number of the thread on which it began.</summary>
        internal readonly int Thread;
        /// <summary>How many segments that had then.</summary>
        internal int Segment;
        /// <summary>The number of the logical call that it is, or 0.</summary>
        internal long Call;
        /// <summary>The context in which it began, as long as it is open.</summary>
        internal Span Before;
        /// <summary>What the platform knows it by (an <c>Activity</c>), or null.</summary>
        internal object Known;
        /// <summary>What it knew before, or null.</summary>
        internal object Earlier;
        /// <summary>Its method has returned, or will: it ends with this task.</summary>
        internal Task EndsWith;
        /// <summary>The spans that it links to, until it has begun in the trace; or null.</summary>
        internal List<string> Links;
        /// <summary>It stands for a span that was given with an object, in the flow that took that.</summary>
        internal bool IsTaken { get; set; }
        /// <summary>The method that took it, where that runs on one thread.</summary>
        internal Turn Turn;
        /// <summary>It is a library's own: <see cref="Known"/> is not ours to end.</summary>
        internal bool IsTold { get; set; }
        internal volatile bool Over;

        /// <summary>Below <paramref name="parent"/>, else below what came in, else below none.</summary>
        internal Span(Span parent, Parent from, Ids ids, string once, int method, int thread)
        {
            TraceHigh = ids.TraceHigh;
            TraceLow = ids.TraceLow;
            Id = ids.Id;
            this.once = once;
            Method = method;
            Thread = thread;
            this.parent = parent;
            if (from != null)
            {
                parentId = from.Id;
                flags = from.Flags;
                State = from.State;
                Baggage = from.Baggage;
            }
            else if (parent != null)
            {
                parentId = parent.Id;
                flags = parent.flags & 0xFF;
                State = parent.State;
                Baggage = parent.Baggage;
            }
            else
            {
                flags = Sampled | Random;
            }
        }

        /// <summary>It is over: who still holds it does not hold what was around it.</summary>
        internal void End()
        {
            Over = true;
            parent = null;
            Before = null;
            Known = null;
            Earlier = null;
            EndsWith = null;
        }

        internal int Flags
        {
            get { return flags & 0xFF; }
        }

        /// <summary>Whether it is recorded, and what runs below it.</summary>
        internal bool IsRecorded
        {
            get { return (flags & Sampled) != 0; }
        }

        /// <summary>Whether it, or a span around it that is open, is of this word.</summary>
        internal bool IsWithin(string word)
        {
            for (Span span = this; span != null; span = span.parent)
            {
                if (!span.Over && span.once == word)
                {
                    return true;
                }
            }
            return false;
        }

        /// <summary>A value of this number is no rule's: it is the span's <c>tracestate</c>.</summary>
        internal const int StatePlace = unchecked((int)0xFFFF0000);
        internal const int LongestState = 512;

        /// <summary>The same: it is a link, as a <c>traceparent</c>, with <c>;</c> and a <c>tracestate</c> behind it where there is one.</summary>
        internal const int LinkPlace = unchecked((int)0xFFFE0000);
        internal const int LongestLink = 55 + 1 + LongestState;

        internal static string Link(string traceparent, string state)
        {
            return string.IsNullOrEmpty(state) ? traceparent : traceparent + ";" + state;
        }

        /// <summary>What a span below it, in another flow of the program, is below of.</summary>
        internal Parent AsParent()
        {
            return new Parent(TraceHigh, TraceLow, Id, Flags, State, Baggage);
        }

        /// <summary>What stands for it in the flow that has taken it. Its ids are this one's.</summary>
        internal Span Taken(int thread, Turn turn)
        {
            var ids = new Ids { TraceHigh = TraceHigh, TraceLow = TraceLow, Id = Id };
            return new Span(this, AsParent(), ids, null, Method, thread) { IsTaken = true, Turn = turn };
        }

        /// <summary>The SPAN escape of the call that it is.</summary>
        internal long[] Begun()
        {
            return new[] { Format.Escape(Format.Span, 5, Method), TraceHigh, TraceLow, Id, parentId, flags };
        }

        /// <summary>That of an activity, which no call of the thread is.</summary>
        internal long[] BegunApart()
        {
            long[] escape = Begun();
            escape[5] |= IsBegun;
            return escape;
        }

        /// <summary>The CONTEXT escape of what runs below it, or in none.</summary>
        internal static long[] Context(Span span)
        {
            long first = Format.Escape(Format.Context, 4, 0);
            return span == null || !span.IsRecorded
                ? new[] { first, 0, 0, 0, 0 }
                : new[] { first, span.TraceHigh, span.TraceLow, span.Id, span.flags };
        }

        /// <summary>As others read it (W3C Trace Context, 3.2).</summary>
        internal string Traceparent()
        {
            return Traceparent(TraceHigh, TraceLow, Id, flags);
        }

        internal static string Traceparent(long traceHigh, long traceLow, long id, int flags)
        {
            var text = new char[55];
            text[0] = text[1] = '0';
            text[2] = text[35] = text[52] = '-';
            Hex(traceHigh, 16, text, 3);
            Hex(traceLow, 16, text, 19);
            Hex(id, 16, text, 36);
            Hex(flags & 0xFF, 2, text, 53);
            return new string(text);
        }

        private static void Hex(long number, int digits, char[] text, int at)
        {
            for (int i = digits - 1; i >= 0; i--, number >>= 4)
            {
                text[at + i] = "0123456789abcdef"[(int)number & 15];
            }
        }
    }

    /// <summary>The ids of a span that begins.</summary>
    internal struct Ids
    {
        internal long TraceHigh;
        internal long TraceLow;
        internal long Id;
    }
}
