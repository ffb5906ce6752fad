using System;
using System.Diagnostics;
using System.Text;

namespace Weave.Runtime
{
    /// <summary>Replaces what a text must not tell. Which that is say tables that were compiled when the program was woven, or by <see cref="Masks"/>.</summary>
    [DebuggerStepThrough]
    internal static class Mask
    {
        /// <summary>How far a match is followed: one that goes on there takes the rest of the text. So a text of any length takes bounded time.</summary>
        internal const int Window = 4096;
        /// <summary>The table begins with how many classes of units there are and the class of each of ASCII and of all others.</summary>
        private const int Head = 130;
        private const string Instead = "***";

        /// <summary>
        /// The text with each longest match of any table replaced, up to <c>limit</c> units and a few more; the text itself if there is
        /// none. <c>own</c> is one more table, or null.
        /// </summary>
        internal static string Apply(string own, string[] tables, string text, int limit)
        {
            StringBuilder masked = null;
            int kept = 0;
            for (int at = 0; at < text.Length && (masked == null ? at : masked.Length + at - kept) <= limit;)
            {
                int end = own == null ? at : End(own, text, at);
                foreach (string table in tables)
                {
                    end = Math.Max(end, End(table, text, at));
                }
                if (end == at)
                {
                    at++;
                    continue;
                }
                if (masked == null)
                {
                    masked = new StringBuilder();
                }
                masked.Append(text, kept, at - kept).Append(Instead);
                at = end;
                kept = end;
            }
            if (masked == null)
            {
                return text;
            }
            int rest = Math.Min(text.Length - kept, Math.Max(0, limit + 1 - masked.Length));
            return masked.Append(text, kept, rest).ToString();
        }

        /// <summary>Whether more of a text could change what is masked up to <c>limit</c> units, or something of that is masked.</summary>
        internal static bool Touches(string own, string[] tables, string text, int limit)
        {
            for (int at = 0; at <= limit && at < text.Length; at++)
            {
                if (own != null && Begins(own, text, at))
                {
                    return true;
                }
                foreach (string table in tables)
                {
                    if (Begins(table, text, at))
                    {
                        return true;
                    }
                }
            }
            return false;
        }

        /// <summary>Whether there is a match from a place on, or may be one that goes on behind the text.</summary>
        private static bool Begins(string table, string text, int from)
        {
            int classes = table[0];
            int row = Head;
            for (int at = from; at < text.Length; at++)
            {
                int next = table[row + 1 + table[1 + Math.Min((int)text[at], 128)]];
                if (next == 0)
                {
                    return false;
                }
                row = Head + (next - 1) * (classes + 1);
                if (table[row] == 1)
                {
                    return true;
                }
            }
            return true;
        }

        /// <summary>Where the longest match from a place on ends, or that place.</summary>
        private static int End(string table, string text, int from)
        {
            int classes = table[0];
            int row = Head;
            int end = from;
            for (int at = from; at < text.Length; at++)
            {
                if (at - from == Window)
                {
                    return text.Length;
                }
                int next = table[row + 1 + table[1 + Math.Min((int)text[at], 128)]];
                if (next == 0)
                {
                    break;
                }
                row = Head + (next - 1) * (classes + 1);
                if (table[row] == 1)
                {
                    end = at + 1;
                }
            }
            return end;
        }
    }
}
