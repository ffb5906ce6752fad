using System;
using System.Diagnostics;
using System.Threading;

namespace Weave.Runtime
{
    /// <summary>
    /// What the calls of a method add up to, as far as they are of one thread. That thread alone writes to it; another may read it
    /// meanwhile.
    /// </summary>
    [DebuggerStepThrough]
    internal class Sum
    {
        /// <summary>Places in <see cref="Words"/>. Calls count when they begin, the rest when they end.</summary>
        internal const int Calls = 0;
        internal const int Errors = 1;
        internal const int Total = 2;
        internal const int Own = 3;
        internal const int Min = 4;
        internal const int Max = 5;
        internal const int Ended = 6;
        /// <summary>The number of the first bucket, which is in the place behind this.</summary>
        internal const int Low = 7;
        internal const int Head = 8;

        /// <summary>Four buckets for each power of two of nanoseconds; the last has all that is longer.</summary>
        internal const int Buckets = 160;
        /// <summary>Buckets come in so many at once.</summary>
        private const int Step = 8;
        private const int MostTold = 1000;
        private const long Second = 1000000000;
        /// <summary>The most memory that one takes, in bytes.</summary>
        internal const int Cost = 8 * (Head + Buckets) + 128;

        /// <summary>The method's.</summary>
        internal readonly int Id;
        /// <summary>Calls that are open.</summary>
        internal int Open;
        /// <summary>Replaced as a whole when it grows.</summary>
        internal long[] Words;
        /// <summary>SLOW escapes of this second, which began at <see cref="since"/>.</summary>
        private int told;
        private long since;
        /// <summary>What <see cref="Turns"/> was when <see cref="Aggregates"/> looked last. By that alone.</summary>
        internal long Seen;

        internal Sum(int id)
        {
            Id = id;
            Words = Fresh(0, 0);
        }

        private static long[] Fresh(int low, int buckets)
        {
            var words = new long[Head + buckets];
            words[Min] = long.MaxValue;
            words[Low] = low;
            return words;
        }

        /// <summary>The bucket of a duration: exact below 4 ns, within an eighth of its middle above.</summary>
        private static int Bucket(long ns)
        {
            if (ns < 4)
            {
                return (int)ns;
            }
            int power = 2;
            long rest = ns >> 3;
            if (rest >> 16 != 0)
            {
                power += 16;
                rest >>= 16;
                if (rest >> 16 != 0)
                {
                    return Buckets - 1;
                }
            }
            for (; rest != 0; rest >>= 1)
            {
                power++;
            }
            return Math.Min(Buckets - 1, 4 * (power - 1) + ((int)(ns >> (power - 2)) & 3));
        }

        /// <summary>Whether the thread may write one more SLOW escape of this method in this second.</summary>
        internal bool Tells(long now)
        {
            if (now - since >= Second)
            {
                since = now;
                told = 0;
            }
            if (told == MostTold)
            {
                return false;
            }
            told++;
            return true;
        }

        /// <summary>A call begins.</summary>
        internal void Begin()
        {
            Words[Calls]++;
            Open++;
        }

        /// <summary>A call is over; whether none of its method is open around it.</summary>
        internal bool Close()
        {
            return --Open == 0;
        }

        /// <summary>What it was.</summary>
        internal void End(long took, long own, bool failed, bool outermost)
        {
            int bucket = Bucket(took);
            long[] all = Words;
            int at = bucket - (int)all[Low];
            if (at < 0 || at >= all.Length - Head)
            {
                all = Widen(bucket, bucket + 1);
                at = bucket - (int)all[Low];
            }
            all[Head + at]++;
            all[Own] += own;
            if (outermost)
            {
                all[Total] += took;
            }
            if (failed)
            {
                all[Errors]++;
            }
            if (took < all[Min])
            {
                all[Min] = took;
            }
            if (took > all[Max])
            {
                all[Max] = took;
            }
            all[Ended]++;
        }

        /// <summary>Has the buckets from one to before another.</summary>
        private long[] Widen(int from, int until)
        {
            long[] old = Words;
            int count = old.Length - Head;
            int low = from / Step * Step;
            int high = Math.Min(Buckets, (until + Step - 1) / Step * Step);
            if (count > 0)
            {
                low = Math.Min(low, (int)old[Low]);
                high = Math.Max(high, (int)old[Low] + count);
            }
            long[] next = Fresh(low, high - low);
            for (int i = 0; i < Low; i++)
            {
                next[i] = old[i];
            }
            for (int i = 0; i < count; i++)
            {
                next[Head + i + (int)old[Low] - low] = old[Head + i];
            }
            Volatile.Write(ref Words, next); // who sees it sees what is in it
            return next;
        }

        /// <summary>Changes with every begin and end.</summary>
        internal long Turns
        {
            get
            {
                long[] all = Volatile.Read(ref Words);
                return Volatile.Read(ref all[Calls]) + Volatile.Read(ref all[Ended]);
            }
        }

        /// <summary>Adds all to another's.</summary>
        internal void AddTo(Sum other)
        {
            long[] from = Volatile.Read(ref Words);
            var low = (int)from[Low];
            int count = from.Length - Head;
            long[] to = other.Words;
            if (count > 0 && (low < to[Low] || low + count > to[Low] + to.Length - Head))
            {
                to = other.Widen(low, low + count);
            }
            for (int i = Calls; i <= Own; i++)
            {
                to[i] += Volatile.Read(ref from[i]);
            }
            to[Ended] += Volatile.Read(ref from[Ended]);
            to[Min] = Math.Min(to[Min], Volatile.Read(ref from[Min]));
            to[Max] = Math.Max(to[Max], Volatile.Read(ref from[Max]));
            for (int i = 0; i < count; i++)
            {
                to[Head + i + low - (int)to[Low]] += Volatile.Read(ref from[Head + i]);
            }
        }
    }

    /// <summary>A hashed table of sums by id. One thread at a time adds to it; another may read it meanwhile.</summary>
    [DebuggerStepThrough]
    internal sealed class Sums
    {
        /// <summary>Never written to.</summary>
        internal static readonly Sum[] Empty = new Sum[1];

        private const int First = 32;

        /// <summary>At most half full. Replaced as a whole when it grows.</summary>
        private volatile Sum[] table = Empty;
        private int used;

        /// <summary>Where an id is looked for first. The next places follow, around the end.</summary>
        internal static int Place(Sum[] table, int id)
        {
            uint mixed = (uint)id * 0x9E3779B9;
            return (int)(mixed ^ mixed >> 16) & (table.Length - 1);
        }

        private static int Find(Sum[] table, int id)
        {
            int at = Place(table, id);
            while (table[at] != null && table[at].Id != id)
            {
                at = (at + 1) & (table.Length - 1);
            }
            return at;
        }

        /// <summary>An id's sum; null if it has none.</summary>
        internal Sum Get(int id)
        {
            Sum[] all = table;
            return all[Find(all, id)];
        }

        /// <summary>Takes one of an id that has none.</summary>
        internal void Add(Sum sum)
        {
            Sum[] all = table;
            if (2 * used >= all.Length || all == Empty)
            {
                var next = new Sum[Math.Max(First, 2 * all.Length)];
                for (int i = 0; i < all.Length; i++)
                {
                    if (all[i] != null)
                    {
                        next[Find(next, all[i].Id)] = all[i];
                    }
                }
                all = next;
            }
            Volatile.Write(ref all[Find(all, sum.Id)], sum); // who sees it sees what is in it
            used++;
            table = all;
        }

        /// <summary>The table, to be read.</summary>
        internal Sum[] All
        {
            get { return table; }
        }

        internal bool IsEmpty
        {
            get { return table == Empty; }
        }
    }

    /// <summary>A call that is open, of a method that is summed up.</summary>
    internal sealed class Frame
    {
        internal int Id;
        /// <summary>What it adds to; null where it is only counted, or added to the trace at once.</summary>
        internal Sum Sum;
        /// <summary>There was no room for a sum.</summary>
        internal bool Counted;
        internal long Start;
        /// <summary>Time in calls right below it, summed up or recorded.</summary>
        internal long Inner;
        /// <summary>Recorded calls that are open below it, up to the next one that is summed up.</summary>
        internal int Recorded;
        /// <summary>When the outermost of them began.</summary>
        internal long Since;
    }
}
