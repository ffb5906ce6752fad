using System;
using System.Collections.Generic;
using System.Threading;

namespace Weave.Runtime
{
    /// <summary>
    /// Keeps what is recorded within a rate, where rules leave it to the library: methods that are called too often and are short are
    /// summed up, those whose sums still take too much time are only counted, and what is called so often that even this does is left out. It looks
    /// at what was recorded, so hooks have no part in this. Methods that run in pieces are not summed up, but counted at once.
    /// </summary>
    internal sealed unsafe class Budget
    {
        internal const int Interval = 100;
        private const long Second = 1000000000;
        /// <summary>The process is to have had so much CPU between two looks: its clock may have coarse steps. After a second a look comes without.</summary>
        private const long LeastCpu = 40000000;
        /// <summary>So many of the chunks that have become full since the last look are read.</summary>
        private const int MostChunks = 16;
        /// <summary>Fewer tell nothing.</summary>
        private const int FewestChunks = 8;
        /// <summary>The least part of the rate that is allowed, however full the trace is.</summary>
        private const double LeastRate = 0.01;
        /// <summary>Summing up may take so many thousandths of the process's CPU, and counting as many.</summary>
        private const int Share = 16;
        /// <summary>What a record takes, in nanoseconds.</summary>
        private const int Recording = 30;
        /// <summary>What it takes beside two readings of the clock, in nanoseconds.</summary>
        private const int Summing = 15;
        /// <summary>What counting a call takes where there are thousands of methods.</summary>
        private const int Counting = 10;
        /// <summary>
        /// Methods whose calls took so many nanoseconds on average since the last look keep their sums, unless a rule says what all may take.
        /// </summary>
        private const int Worthwhile = 20000;

        private readonly Store store;
        private readonly long rate = Settings.Rate();
        /// <summary>What rules allow, in thousandths of the program's own CPU; 0 where none says it.</summary>
        private int overhead;
        /// <summary>1 for what is summed up, 2 for what is counted, 3 for what is left out.</summary>
        private Tally decided = new Tally();
        private long looked;
        private long filled;
        private long looks;

        /// <summary>
        /// Calls of each method in the chunks that were read; <see cref="Sum.Errors"/> has those of which only a part is there, <see cref="Sum.Own"/>
        /// the records of logical calls, which are no others.
        /// </summary>
        private Sums calls;
        private readonly Begun begun = new Begun();
        private long records;
        private readonly int[] ids = new int[Format.ChunkWords];
        private readonly long[] starts = new long[Format.ChunkWords];

        /// <summary>When threads' tables were looked at last; 0 where nothing was decided since.</summary>
        private long lightened;
        /// <summary>Calls in them, and time in them, at the last look and at the one before.</summary>
        private Tally sums = new Tally();
        private Tally sumsBefore = new Tally();
        private Tally counts = new Tally();
        private Tally countsBefore = new Tally();
        private Tally times = new Tally();
        private Tally timesBefore = new Tally();
        private long cost;
        /// <summary>CPU time of the process when its chunks and its threads' tables were looked at; 0 where it was not asked for.</summary>
        private long spent;
        private long spentLightly;

        internal Budget(Store store)
        {
            this.store = store;
        }

        internal bool IsOn
        {
            get { return rate > 0 || overhead > 0; }
        }

        /// <summary>A rule allows so many thousandths of the program's CPU: the least of them counts.</summary>
        internal void Allow(int thousandths)
        {
            overhead = overhead == 0 ? thousandths : Math.Min(overhead, thousandths);
        }

        /// <summary>What each of what is recorded, summed up and counted may take of so much CPU of the process: what a rule says is a part of the rest.</summary>
        private double Allowance(long cpu)
        {
            return overhead == 0 ? cpu / 1000 * Share : (double)cpu * overhead / (1000 + overhead) / 3;
        }

        internal bool IsEmpty
        {
            get { return decided.IsEmpty; }
        }

        /// <summary>What was decided of a method; <see cref="Modes.Unknown"/> if nothing was.</summary>
        internal int Mode(int id)
        {
            long what = decided.Count(id);
            return what == 0 ? Modes.Unknown : what == 1 ? Modes.Aggregate : what == 2 ? Modes.Count : Modes.Off;
        }

        /// <summary>All decisions are taken back.</summary>
        internal void Reset()
        {
            decided = new Tally();
            begun.Clear();
            looks = 0;
        }

        /// <summary>Looks what is recorded: the methods that are to be summed up from now, and those that run in pieces, which are to be counted; each
        /// null if there are none.</summary>
        internal void SumUp(Control control, long now, out List<int> summed, out List<int> counted)
        {
            summed = null;
            counted = null;
            long past = filled;
            long since = now - looked;
            var chunks = new List<IntPtr>();
            if (!store.Filled(chunks, MostChunks, ref filled))
            {
                return;
            }
            if (filled - past < FewestChunks)
            {
                filled = past;
                return;
            }
            looked = now;
            long used = CpuTime();
            // Of a process that has a part of a processor as much is allowed as that part.
            double cpu = used > 0 && spent > 0 ? (used - spent) / (double)since : 1;
            double part = cpu < 1 ? cpu : 1;
            spent = used;
            // The fuller the trace, the less: what was recorded is to stay in it.
            double room = store.Room * part;
            double allowed = rate * (room > LeastRate ? room : LeastRate);
            double payable = Allowance(Second) * cpu / Recording;
            allowed = overhead != 0 && (rate == 0 || payable < allowed) ? payable : allowed;
            if (looks++ == 0 || (filled - past) * Format.ChunkWords * (double)Second <= allowed * since)
            {
                return;
            }
            calls = new Sums();
            records = 0;
            begun.Look();
            int read = 0;
            for (int i = 0; i < chunks.Count; i++)
            {
                read += Read((long*)chunks[i]) ? 1 : 0;
            }
            if (read == 0)
            {
                return;
            }
            // So many of each record that was read were written in a second.
            double scale = (double)(filled - past) / read * Second / since;
            double excess = records * scale - allowed;
            if (excess <= 0)
            {
                return;
            }
            excess += allowed / 4; // so that not each look has something to decide
            Sum[] all = calls.All;
            var order = new List<long>();
            for (int i = 0; i < all.Length; i++)
            {
                if (all[i] != null && IsShort(all[i], control.SlowerThan(all[i].Id)) && decided.Count(all[i].Id) == 0)
                {
                    order.Add(Pairs(all[i]) << 32 | (long)(uint)all[i].Id);
                }
            }
            long[] sorted = Sorted(order);
            for (int i = sorted.Length - 1; i >= 0 && excess > 0; i--)
            {
                var id = (int)sorted[i];
                excess -= 2 * (sorted[i] >> 32) * scale;
                if (calls.Get(id).Words[Sum.Own] > 0)
                {
                    decided.Add(id, 2);
                    counted = counted ?? new List<int>();
                    counted.Add(id);
                }
                else
                {
                    decided.Add(id, 1);
                    summed = summed ?? new List<int>();
                    summed.Add(id);
                }
            }
        }

        /// <summary>Half of its records.</summary>
        private static long Pairs(Sum sum)
        {
            long[] words = sum.Words;
            return words[Sum.Own] > 0 ? words[Sum.Own] / 2 : words[Sum.Calls];
        }

        /// <summary>Whether its calls are shorter on average than that, in microseconds, as far as is known.</summary>
        private bool IsShort(Sum sum, int slowerThan)
        {
            long[] words = sum.Words;
            if (words[Sum.Own] > 0)
            {
                return begun.IsShort(sum.Id, slowerThan);
            }
            return words[Sum.Ended] > 8 * words[Sum.Errors] && words[Sum.Total] < words[Sum.Ended] * slowerThan * 1000L;
        }

        internal static long[] Sorted(List<long> some)
        {
            var sorted = new long[some.Count];
            for (int i = 0; i < sorted.Length; i++)
            {
                sorted[i] = some[i];
            }
            Array.Sort(sorted);
            return sorted;
        }

        /// <summary>Adds a chunk's calls; false if it is not what it was.</summary>
        private bool Read(long* chunk)
        {
            long serial = chunk[1];
            if (chunk[0] != ((long)Format.Records << 32 | Format.ChunkMagic))
            {
                return false;
            }
            long first = chunk[3];
            long clock = first;
            long call = 0; // the logical one that the next record is of
            int mark = 0;
            int open = 0;
            for (int i = Format.ChunkHeadWords; i < Format.ChunkWords && chunk[i] != 0; i++)
            {
                long word = chunk[i];
                var kind = (int)word & 3;
                var id = (int)(word >> 32);
                if (kind == 0)
                {
                    int type = (int)(word >> 2) & 0x3F;
                    int payload = (int)((uint)word >> 8);
                    if (type == Format.End)
                    {
                        break;
                    }
                    bool another = type == Format.Segment;
                    if (another)
                    {
                        open = Leave(open);
                    }
                    if ((type == Format.Time || another) && i + 2 < Format.ChunkWords)
                    {
                        clock = chunk[i + (another ? 2 : 1)];
                        first = another ? clock : first;
                    }
                    if (type >= Format.Logical && type <= Format.Complete && i + 2 < Format.ChunkWords)
                    {
                        call = type == Format.Logical ? chunk[i + 1] : 0;
                        mark = id;
                        records += type == Format.Logical ? 0 : 1;
                    }
                    if (type == Format.Begin && i + 2 < Format.ChunkWords)
                    {
                        Of(id)[Sum.Own]++;
                        begun.Begin(chunk[i + 1], id, chunk[i + 2]);
                    }
                    else if (type == Format.Complete && i + 2 < Format.ChunkWords)
                    {
                        Of(id)[Sum.Own]++;
                        begun.End(chunk[i + 1], id, chunk[i + 2]);
                    }
                    if (payload >= Format.ChunkWords - i)
                    {
                        break;
                    }
                    i += payload;
                    continue;
                }
                clock += (uint)word >> 2;
                records++;
                if (call != 0 && (mark & Format.First) != 0)
                {
                    begun.Begin(call, id, clock);
                }
                else if (call != 0 && (mark & Format.Last) != 0)
                {
                    begun.End(call, id, clock);
                }
                if (kind == Format.Enter)
                {
                    long[] words = Of(id);
                    words[Sum.Calls]++;
                    words[Sum.Own] += call != 0 ? 2 : 0;
                    ids[open] = id;
                    starts[open++] = clock;
                }
                else if (open > 0 && ids[open - 1] == id)
                {
                    long[] words = Of(id);
                    words[Sum.Total] += clock - starts[--open];
                    words[Sum.Ended]++;
                }
                else
                {
                    Of(id)[Sum.Errors]++; // it began before
                }
                call = 0;
            }
            Leave(open);
            // What has become another meanwhile has few records that make sense, and those are of this program.
            return chunk[1] == serial;
        }

        /// <summary>Calls are open whose end is elsewhere.</summary>
        private int Leave(int open)
        {
            while (open > 0)
            {
                Of(ids[--open])[Sum.Errors]++;
            }
            return 0;
        }

        private long[] Of(int id)
        {
            Sum sum = calls.Get(id);
            if (sum == null)
            {
                sum = new Sum(id);
                calls.Add(sum);
            }
            return sum.Words;
        }

        /// <summary>Looks what threads that live have summed up and counted: the methods that are only to be counted from now, and those that are not
        /// even counted; each null if there are none.</summary>
        internal void Lighten(Control control, long now, out List<int> toCount, out List<int> toLeave)
        {
            toCount = null;
            toLeave = null;
            long used = CpuTime();
            bool knows = used > 0 && spentLightly > 0 && lightened != 0;
            if (knows && used - spentLightly < LeastCpu && now - lightened < Second)
            {
                return;
            }
            var tallies = new List<Tally>();
            var tables = new List<Sums>();
            if (!store.Live(tallies, tables))
            {
                return;
            }
            Swap(ref sums, ref sumsBefore);
            Swap(ref counts, ref countsBefore);
            Swap(ref times, ref timesBefore);
            for (int i = 0; i < tables.Count; i++)
            {
                Sum[] all = tables[i].All;
                for (int j = 0; j < all.Length; j++)
                {
                    if (all[j] != null)
                    {
                        long[] words = Volatile.Read(ref all[j].Words);
                        sums.Add(all[j].Id, Volatile.Read(ref words[Sum.Calls]));
                        times.Add(all[j].Id, Volatile.Read(ref words[Sum.Total]));
                    }
                }
            }
            for (int i = 0; i < tallies.Count; i++)
            {
                tallies[i].AddTo(counts);
            }
            long since = knows ? Math.Max(used - spentLightly, LeastCpu / 4) : now - lightened;
            spentLightly = used;
            bool first = lightened == 0;
            lightened = now;
            if (first)
            {
                cost = cost == 0 ? Cost() : cost;
                return;
            }
            var share = (long)Allowance(since);
            toLeave = Dearest(control, counts, null, countsBefore, 2, Counting, share);
            toCount = Dearest(control, sums, times, sumsBefore, 1, cost, share);
        }

        /// <summary>CPU time of the process in nanoseconds; -1 where nobody tells.</summary>
        private static long CpuTime()
        {
            try
            {
                long ticks = Host.CpuTime();
                return ticks < 0 ? -1 : ticks * 100;
            }
            catch (Exception)
            {
                return -1;
            }
        }

        /// <summary>The other takes what comes now: it has no counts then, and its ids keep their places.</summary>
        private static void Swap(ref Tally last, ref Tally before)
        {
            Tally old = before;
            before = last;
            last = old;
            last.Clear();
        }

        /// <summary>Of the methods about which so many decisions came before, those with most calls, until the others take no more than their share.</summary>
        private List<int> Dearest(Control control, Tally total, Tally times, Tally old, int decisions, long each, long share)
        {
            long all = 0;
            var order = new List<long>();
            long[] cells = total.Cells;
            for (int i = 0; i < cells.Length; i += 2)
            {
                var id = (int)cells[i];
                long n = cells[i] == 0 ? 0 : cells[i + 1] - old.Count(id);
                bool isDear = overhead != 0 || times == null || times.Count(id) - timesBefore.Count(id) < n * Worthwhile;
                // What its code has counted nobody has decided about; how often it was called before does not matter.
                bool isCounted = decisions == 2 && decided.Count(id) == 0 && old.Count(id) > 0;
                if (n > 0 && isDear && (isCounted || decided.Count(id) == decisions) && control.SlowerThan(id) >= 0)
                {
                    all += n;
                    order.Add(Math.Min(n, int.MaxValue) << 32 | (long)(uint)id);
                }
            }
            long excess = all * each - share;
            if (excess <= 0)
            {
                return null;
            }
            excess += share / 4;
            var chosen = new List<int>();
            long[] sorted = Sorted(order);
            for (int i = sorted.Length - 1; i >= 0 && excess > 0; i--)
            {
                decided.Add((int)sorted[i], decisions + 1 - decided.Count((int)sorted[i]));
                chosen.Add((int)sorted[i]);
                excess -= (sorted[i] >> 32) * each;
            }
            return chosen.Count == 0 ? null : chosen;
        }

        /// <summary>What it takes to sum up a call, in nanoseconds.</summary>
        private static long Cost()
        {
            const int Rounds = 200;
            long least = Second;
            for (int i = 0; i < 5; i++)
            {
                long begin = Clock.Now();
                for (int j = 1; j < Rounds; j++)
                {
                    Clock.Now();
                }
                least = Math.Min(least, Clock.Now() - begin);
            }
            return 2 * least / Rounds + Summing;
        }
    }
}
