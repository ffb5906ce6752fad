using System;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Weave.Runtime
{
    /// <summary>
    /// How often methods were called that are only counted: a hashed table of ids, each with its count behind it. One thread at a
    /// time adds to it; another may read it meanwhile.
    /// </summary>
    [DebuggerStepThrough]
    internal sealed class Tally
    {
        /// <summary>Has no place for anything: what is counted in it comes to <see cref="Add"/>. Never written to.</summary>
        internal static readonly long[] Empty = new long[2];

        private const int First = 64;

        /// <summary>At most half full. Replaced as a whole when it grows.</summary>
        private volatile long[] cells = Empty;
        private int used;

        /// <summary>Where an id is looked for first. The next places follow, around the end.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        internal static int Place(long[] cells, int id)
        {
            uint mixed = (uint)id * 0x9E3779B9;
            return (int)(mixed ^ mixed >> 16) & (cells.Length - 2);
        }

        /// <summary>The place of an id, or the empty one that it would have. Its count is behind it.</summary>
        private static int Find(long[] cells, int id)
        {
            int at = Place(cells, id);
            while (cells[at] != 0 && (int)cells[at] != id)
            {
                at = (at + 2) & (cells.Length - 2);
            }
            return at;
        }

        /// <summary>Adds to an id's count; returns the table that has it now.</summary>
        internal long[] Add(int id, long count)
        {
            long[] table = cells;
            int at = Find(table, id);
            if (table[at] == 0)
            {
                if (4 * used >= table.Length || table == Empty)
                {
                    table = Grow();
                    at = Find(table, id);
                }
                used++;
            }
            table[at + 1] += count;
            Volatile.Write(ref table[at], (long)(uint)id); // who sees the id sees its count
            return table;
        }

        private long[] Grow()
        {
            long[] old = cells;
            var next = new long[Math.Max(First, 2 * old.Length)];
            for (int i = 0; i < old.Length; i += 2)
            {
                if (old[i] != 0)
                {
                    int at = Find(next, (int)old[i]);
                    next[at + 1] = old[i + 1];
                    next[at] = old[i];
                }
            }
            cells = next;
            return next;
        }

        /// <summary>The table, to be read.</summary>
        internal long[] Cells
        {
            get { return cells; }
        }

        internal bool IsEmpty
        {
            get { return cells == Empty; }
        }

        /// <summary>What an id's count is, or 0.</summary>
        internal long Count(int id)
        {
            long[] table = cells;
            return table[Find(table, id) + 1];
        }

        /// <summary>Sets all counts to 0. The ids keep their places.</summary>
        internal void Clear()
        {
            long[] table = cells;
            for (int i = 1; i < table.Length; i += 2)
            {
                table[i] = 0;
            }
        }

        /// <summary>Adds all counts to another's.</summary>
        internal void AddTo(Tally sum)
        {
            long[] table = cells;
            for (int i = 0; i < table.Length; i += 2)
            {
                if (Volatile.Read(ref table[i]) != 0)
                {
                    sum.Add((int)table[i], Volatile.Read(ref table[i + 1]));
                }
            }
        }
    }
}
