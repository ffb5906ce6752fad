using System;

namespace Weave.Runtime
{
    /// <summary>
    /// Logical calls that <see cref="Budget"/> has seen begin or end, and what they add up to. They go from thread to thread, so begin and
    /// end may be read in any order, and in different looks.
    /// </summary>
    internal sealed class Begun
    {
        /// <summary>So many are known. What goes beyond that in one look is not noted.</summary>
        private const int Most = 1 << 16;

        /// <summary>
        /// A hashed table: a call's number, and behind it the time of its begin, or that of its end with the sign turned round where only that
        /// was read; 0 once both were.
        /// </summary>
        private long[] cells;
        private int used;
        /// <summary>Of each method, by the words of <see cref="Sum"/>: calls that began, and of those that were seen to end how many and how long they took.</summary>
        private Sums methods = new Sums();
        /// <summary>Looks since the table was empty, with the one under way.</summary>
        private int looks;

        /// <summary>Another look.</summary>
        internal void Look()
        {
            if (used > Most / 2)
            {
                Clear();
            }
            looks++;
        }

        internal void Clear()
        {
            cells = null;
            used = 0;
            methods = new Sums();
            looks = 0;
        }

        internal void Begin(long number, int id, long time)
        {
            int at = Place(number);
            if (at >= 0 && cells[at + 1] <= 0)
            {
                long[] words = Of(id);
                words[Sum.Calls]++;
                Note(words, at, number, time);
            }
        }

        internal void End(long number, int id, long time)
        {
            int at = Place(number);
            if (at >= 0 && cells[at + 1] >= 0)
            {
                Note(Of(id), at, number, -time);
            }
        }

        private void Note(long[] words, int at, long number, long time)
        {
            long other = cells[at + 1];
            bool whole = other != 0;
            cells[at] = number;
            cells[at + 1] = whole ? 0 : time;
            used += whole ? 0 : 1;
            if (whole)
            {
                words[Sum.Ended]++;
                words[Sum.Total] += Math.Max(0, -(other + time)); // the end has its sign turned round
            }
        }

        /// <summary>Where a call is, or may be noted; -1 where there is no room, or both its ends are known.</summary>
        private int Place(long number)
        {
            cells = cells ?? new long[4 * Most];
            int at = (int)((ulong)number * 0x9E3779B97F4A7C15 >> 40) & (cells.Length - 2);
            while (cells[at] != 0 && cells[at] != number)
            {
                at = (at + 2) & (cells.Length - 2);
            }
            bool fits = cells[at] == 0 ? used < Most && number != 0 : cells[at + 1] != 0;
            return fits ? at : -1;
        }

        private long[] Of(int id)
        {
            Sum sum = methods.Get(id);
            if (sum == null)
            {
                sum = new Sum(id);
                methods.Add(sum);
            }
            return sum.Words;
        }

        /// <summary>
        /// Whether calls of a method are shorter on average than that, in microseconds, as far as is known: not before a second look, so that
        /// longer ones were seen to end, too.
        /// </summary>
        internal bool IsShort(int id, int slowerThan)
        {
            Sum sum = methods.Get(id);
            if (sum == null || looks < 2)
            {
                return false;
            }
            long[] words = sum.Words;
            return words[Sum.Ended] > 0 && 8 * words[Sum.Ended] >= words[Sum.Calls] && words[Sum.Total] < words[Sum.Ended] * slowerThan * 1000L;
        }
    }
}
