using System;

namespace Weave.Runtime
{
    /// <summary>
    /// The context that came in with a request, as one of the <see cref="Propagators"/> has it. What is wrong with it makes it none at all.
    /// </summary>
    internal sealed class Parent
    {
        private const int Longest = 512; // of what is no list of any length
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

        /// <summary>As W3C Trace Context has it.</summary>
        internal string Traceparent()
        {
            return Span.Traceparent(TraceHigh, TraceLow, Id, Flags);
        }

        /// <summary>The same with this baggage.</summary>
        internal Parent With(string text)
        {
            return new Parent(TraceHigh, TraceLow, Id, Flags, State, Passable(text, LongestBaggage));
        }

        /// <summary>The same, recorded or not.</summary>
        internal Parent With(bool sampled)
        {
            return new Parent(TraceHigh, TraceLow, Id, Flags & ~Span.Sampled | (sampled ? Span.Sampled : 0), State, Baggage);
        }

        /// <summary>Of hexadecimal digits in lower case; null where the trace or the span is 0.</summary>
        private static Parent Of(string trace, string id, int flags, string state)
        {
            int middle = Math.Max(0, trace.Length - 16);
            long high = Hex(trace, 0, middle);
            long low = Hex(trace, middle, trace.Length);
            long span = Hex(id, 0, id.Length);
            return (high | low) == 0 || span == 0 ? null : new Parent(high, low, span, flags | Span.Remote, state, null);
        }

        /// <summary>Reads a <c>traceparent</c> (3.2.2); null where it is none. Versions behind the first may have more to say.</summary>
        internal static Parent Of(string text, string state)
        {
            if (text == null)
            {
                return null;
            }
            int length = text.Length;
            bool isFirst = text.StartsWith("00-", StringComparison.Ordinal);
            if (length < 55 || isFirst && length != 55 || length > 55 && text[55] != '-' || text.StartsWith("ff", StringComparison.Ordinal)
                || length > Longest || text[2] != '-' || text[35] != '-' || text[52] != '-'
                || !IsHex(text, 0, 2) || !IsHex(text, 3, 35) || !IsHex(text, 36, 52) || !IsHex(text, 53, 55))
            {
                return null;
            }
            int flags = (int)Hex(text, 53, 55) & (Span.Sampled | Span.Random);
            return Of(text.Substring(3, 32), text.Substring(36, 16), flags, Passable(state, LongestState));
        }

        /// <summary>Reads a <c>b3</c> header: trace, span, and, if they are there, whether it is recorded, and the span's parent.</summary>
        internal static Parent OfB3(string text)
        {
            string[] parts = Parts(text, '-', 4);
            if (parts == null || parts.Length < 2 || parts.Length > 3 && !IsHex(parts[3], 16))
            {
                return null;
            }
            string sampled = parts.Length == 2 ? null : parts[2];
            return sampled == "d" ? OfB3(parts[0], parts[1], null, "1") : OfB3(parts[0], parts[1], sampled, null);
        }

        /// <summary>Reads the headers of B3 apart. Where none says whether the trace is recorded, that is left to this process.</summary>
        internal static Parent OfB3(string trace, string id, string sampled, string flags)
        {
            if (!IsHex(trace, 32) && !IsHex(trace, 16) || !IsHex(id, 16))
            {
                return null;
            }
            bool isDebug = flags == "1";
            bool isOn = sampled == null || sampled == "1" || sampled == "true";
            if (!isDebug && !isOn && sampled != "0" && sampled != "false")
            {
                return null;
            }
            return Of(trace, id, isDebug || isOn ? Span.Sampled : 0, null);
        }

        /// <summary>Reads a <c>uber-trace-id</c>: trace, span, what is not used any more, and flags. Zeros in front may be missing.</summary>
        internal static Parent OfJaeger(string text)
        {
            string[] parts = Parts(text == null || text.Length > Longest ? null : text.Replace("%3A", ":").Replace("%3a", ":"), ':', 4);
            if (parts == null || parts.Length != 4 || !IsHexUpTo(parts[0], 32) || !IsHexUpTo(parts[1], 16) || !IsHexUpTo(parts[2], 16)
                || !IsHexUpTo(parts[3], 2))
            {
                return null;
            }
            bool isSampled = (Hex(parts[3], 0, parts[3].Length) & 3) != 0; // 2: it is to be recorded whoever decides
            return Of(parts[0], parts[1], isSampled ? Span.Sampled : 0, null);
        }

        /// <summary>
        /// Reads an <c>X-Amzn-Trace-Id</c>: <c>Root=1-8 digits-24 digits;Parent=16 digits;Sampled=1</c>, and what others have put in between.
        /// </summary>
        internal static Parent OfXray(string text)
        {
            string[] parts = Parts(text, ';', 32) ?? new string[0];
            string root = null;
            string id = null;
            string sampled = "?";
            foreach (string one in parts)
            {
                string part = one.Trim();
                root = part.StartsWith("Root=", StringComparison.Ordinal) ? part.Substring(5) : root;
                id = part.StartsWith("Parent=", StringComparison.Ordinal) ? part.Substring(7) : id;
                sampled = part.StartsWith("Sampled=", StringComparison.Ordinal) ? part.Substring(8) : sampled;
            }
            string[] trace = Parts(root, '-', 3);
            if (trace == null || trace.Length != 3 || trace[0] != "1" || !IsHex(trace[1], 8) || !IsHex(trace[2], 24) || !IsHex(id, 16)
                || sampled != "0" && sampled != "1" && sampled != "?")
            {
                return null;
            }
            return Of(trace[1] + trace[2], id, sampled == "0" ? 0 : Span.Sampled, null);
        }

        /// <summary>What stands between separators; null where that is too much.</summary>
        private static string[] Parts(string text, char separator, int most)
        {
            if (text == null || text.Length > Longest)
            {
                return null;
            }
            string[] all = text.Trim().Split(separator);
            return all.Length > most ? null : all;
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

        private static bool IsHex(string text, int digits)
        {
            return text != null && text.Length == digits && IsHex(text, 0, digits);
        }

        private static bool IsHexUpTo(string text, int most)
        {
            return text.Length != 0 && text.Length <= most && IsHex(text, 0, text.Length);
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
