using System;

namespace Weave.Runtime
{
    /// <summary>The context that came in with a request: W3C Trace Context and Baggage. What is wrong with it makes it none at all.</summary>
    internal sealed class Parent
    {
        private const int LongestState = 512; // W3C Trace Context, 3.3.1.5: what must be passed on
        private const int LongestBaggage = 8192; // W3C Baggage, 3.3.2

        internal readonly long TraceHigh;
        internal readonly long TraceLow;
        internal readonly long Id;
        internal readonly int Flags;
        internal readonly string State;
        internal readonly string Baggage;

        internal Parent(long traceHigh, long traceLow, long id, int flags, string state, string baggage)
        {
            TraceHigh = traceHigh;
            TraceLow = traceLow;
            Id = id;
            Flags = flags;
            State = state;
            Baggage = baggage;
        }

        /// <summary>Reads a <c>traceparent</c> (3.2.2); null where it is none. Versions behind the first may have more to say.</summary>
        internal static Parent Of(string text, string state, string baggage)
        {
            if (text == null)
            {
                return null;
            }
            int length = text.Length;
            bool isFirst = text.StartsWith("00-", StringComparison.Ordinal);
            if (length < 55 || isFirst && length != 55 || length > 55 && text[55] != '-' || text.StartsWith("ff", StringComparison.Ordinal)
                || length > LongestState || text[2] != '-' || text[35] != '-' || text[52] != '-'
                || !IsHex(text, 0, 2) || !IsHex(text, 3, 35) || !IsHex(text, 36, 52) || !IsHex(text, 53, 55))
            {
                return null;
            }
            long high = Hex(text, 3, 19);
            long low = Hex(text, 19, 35);
            long id = Hex(text, 36, 52);
            if ((high | low) == 0 || id == 0)
            {
                return null;
            }
            int flags = (int)Hex(text, 53, 55) & (Span.Sampled | Span.Random) | Span.Remote;
            return new Parent(high, low, id, flags, Passable(state, LongestState), Passable(baggage, LongestBaggage));
        }

        /// <summary>A header that may be sent on as it came, or null: no control characters, and not too long.</summary>
        private static string Passable(string text, int longest)
        {
            if (string.IsNullOrEmpty(text) || text.Length > longest)
            {
                return null;
            }
            for (int i = 0; i < text.Length; i++)
            {
                char c = text[i];
                if (c != '\t' && (c < ' ' || c > '~'))
                {
                    return null;
                }
            }
            return text;
        }

        private static bool IsHex(string text, int from, int to)
        {
            for (int i = from; i < to; i++)
            {
                char c = text[i];
                if ((c < '0' || c > '9') && (c < 'a' || c > 'f'))
                {
                    return false;
                }
            }
            return true;
        }

        private static long Hex(string text, int from, int to)
        {
            long number = 0;
            for (int i = from; i < to; i++)
            {
                char c = text[i];
                number = number << 4 | (long)(uint)(c <= '9' ? c - '0' : c - 'a' + 10);
            }
            return number;
        }
    }
}
