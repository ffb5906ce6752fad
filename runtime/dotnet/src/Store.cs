using System;
using System.Collections.Generic;
using System.IO;
using System.Threading;

namespace Weave.Runtime
{
    /// <summary>The result of taking a chunk.</summary>
    internal enum Taken
    {
        Chunk,
        None,
        /// <summary>The file would have to grow, for which the stack is too short.</summary>
        NotTried,
    }

    /// <summary>Who gets which chunk: new ones while the file may grow, then what the policy allows. And who has which lane.</summary>
    internal sealed unsafe class Store
    {
        /// <summary>A chunk with less room is not worth going on in.</summary>
        private const int Worthwhile = 512;
        /// <summary>After a look for room in vain none is looked for during this time.</summary>
        private const long DrySpell = 100000000;
        private const int Nap = 2;
        /// <summary>So many chunks are ready at most, unless the file is at its end: 8 MiB.</summary>
        private const int MostAhead = 128;
        /// <summary>A thread with too little stack waits so long at most until another has made the file grow.</summary>
        private const long Errand = 1000000000;

        internal readonly Header Header;
        internal readonly Counts Counts;
        /// <summary>Null where nothing can be switched, as far as is known.</summary>
        internal volatile Companion Companion;
        /// <summary>Where the trace is, and of which process.</summary>
        internal string Path { get { return file.Path; } }
        internal readonly long Pid;
        internal readonly long WallClock;
        private readonly Gate gate = new Gate();
        private readonly TraceFile file;
        private readonly Settings settings;
        /// <summary>Null where nothing may hold the library.</summary>
        private readonly Supplier supplier;
        /// <summary>Milliseconds between two samples of what the process uses; 0 for none.</summary>
        internal int Interval { get { return settings.Sample; } }
        private long serials;
        /// <summary>Chunks that have become full so far.</summary>
        private long filled;
        private int threads;

        /// <summary>Never used, or given back by a consumer.</summary>
        private readonly Chunks free = new Chunks();
        /// <summary>So many chunks are to be ready. Grows with the need.</summary>
        private volatile int ahead = 8;
        /// <summary>All chunks that there are.</summary>
        private volatile int chunks;
        /// <summary>Full, the oldest first.</summary>
        private readonly Chunks retired = new Chunks();
        /// <summary>Of threads that have died, with where to go on.</summary>
        private readonly Chunks resting = new Chunks();
        /// <summary>The lanes of the threads that live, and of some that are dead.</summary>
        private readonly List<Lane> lanes = new List<Lane>();
        /// <summary>What dead threads have counted and <see cref="Counts"/> has not asked for yet.</summary>
        private readonly List<Tally> dead = new List<Tally>();
        /// <summary>And summed up.</summary>
        private readonly List<Sums> deadSums = new List<Sums>();
        /// <summary>The number of lanes at which the dead are looked for: as many looks as threads, not their square.</summary>
        private int sweepAt = 4;

        /// <summary>No room was found the last time it was looked for.</summary>
        private volatile bool dry;
        private long drySince;
        /// <summary>Nobody came to do it.</summary>
        private volatile bool alone;

        /// <summary>Only who can read the trace knows it.</summary>
        internal readonly byte[] Nonce;
        /// <summary>What draws of sampled calls begin with: processes of a fleet take different ones.</summary>
        internal readonly ulong Draws = Settings.Seed();

        internal Store(TraceFile file, Settings settings, long pid, string command)
        {
            this.file = file;
            this.settings = settings;
            Pid = pid;
            Nonce = RequestFile.NewNonce();
            WallClock = (DateTime.UtcNow.Ticks - new DateTime(1970, 1, 1).Ticks) * 100 - Clock.Now();
            long* first;
            int count = file.Grow(TraceFile.Piece, out first);
            if (count < 2)
            {
                throw new IOException(file.Trouble ?? "no room");
            }
            Header = new Header(first, WallClock, pid, settings.Policy, settings.Limit, settings.LimitBy, command, Nonce);
            Add(first + Format.ChunkWords, count - 1);
            Counts = new Counts(this);
            supplier = Host.IsCollectible ? null : new Supplier(this);
        }

        /// <summary>Starts what lets the file grow beside the program.</summary>
        internal void Start()
        {
            if (supplier != null)
            {
                supplier.Start();
            }
        }

        /// <summary>Has the supplier's thread look what there is to do.</summary>
        internal void Wake()
        {
            if (supplier != null)
            {
                supplier.Wake();
            }
        }

        /// <summary>Whether the chunks that are ready are few, and there may be more.</summary>
        internal bool Wants
        {
            get { return free.Count < ahead && (file.MayGrow || Recycles); }
        }

        /// <summary>Under ring chunks are made free ahead of need where there are so many that the few do not matter.</summary>
        private bool Recycles
        {
            get { return settings.Policy == Settings.Ring && free.Count < Math.Min(ahead, chunks / 64); }
        }

        /// <summary>Gets more chunks ready; false if that was in vain. For the supplier's thread.</summary>
        internal bool Supply()
        {
            if (settings.Policy != Settings.Ring && Header.Heartbeat != 0 && TakeBack())
            {
                return true; // there is a consumer, which spares the file growing
            }
            return file.MayGrow ? More(TraceFile.Piece, ahead) : Recycles && Recycle();
        }

        /// <summary>Whether enough chunks are ready with what a consumer has given back.</summary>
        private bool TakeBack()
        {
            if (!gate.Enter())
            {
                return false;
            }
            try
            {
                Reclaim();
                return free.Count >= ahead;
            }
            finally
            {
                gate.Leave();
            }
        }

        /// <summary>Lets the file grow, unless somebody else has done so; false if it was in vain.</summary>
        private bool More(int most, int enough)
        {
            if (!file.Gate.Enter())
            {
                return false;
            }
            try
            {
                if (free.Count >= enough)
                {
                    return true;
                }
                long* more;
                int count = file.Grow(most, out more);
                if (count == 0 || !gate.Enter())
                {
                    return false;
                }
                try
                {
                    Add(more, count);
                }
                finally
                {
                    gate.Leave();
                }
                return true;
            }
            finally
            {
                file.Gate.Leave();
            }
        }

        /// <summary>Makes the ring's oldest chunk free; false if there is none.</summary>
        private bool Recycle()
        {
            if (!gate.Enter())
            {
                return false;
            }
            long* chunk;
            try
            {
                chunk = Oldest(null);
            }
            finally
            {
                gate.Leave();
            }
            if (chunk == null)
            {
                return false;
            }
            Clear(chunk);
            if (!gate.Enter())
            {
                return false;
            }
            try
            {
                free.Add(chunk, null);
            }
            finally
            {
                gate.Leave();
            }
            return true;
        }

        /// <summary>Until this has come to its end the first word says that the chunk is not clean.</summary>
        private static void Clear(long* chunk)
        {
            chunk[0] = Format.FreeMagic;
            Thread.MemoryBarrier(); // who sees anything cleared sees that, too
            for (int i = 1; i < Format.ChunkWords; i++)
            {
                chunk[i] = 0;
            }
            Volatile.Write(ref chunk[0], 0);
        }

        /// <summary>Why the file could not grow to its limit, or null.</summary>
        internal string Trouble
        {
            get { return file.Trouble; }
        }

        /// <summary>The lane of a thread that has none.</summary>
        internal Lane Lane(Thread thread)
        {
            if (!gate.Enter())
            {
                return null;
            }
            try
            {
                if (lanes.Count >= sweepAt)
                {
                    Sweep();
                    sweepAt = 4 + 2 * lanes.Count;
                }
                var lane = new Lane(this, ++threads, thread);
                lanes.Add(lane);
                long* word;
                long* chunk = resting.Take(out word);
                if (chunk != null)
                {
                    lane.Move(chunk, word, 0, 0);
                }
                return lane;
            }
            finally
            {
                gate.Leave();
            }
        }

        /// <summary>Adds the lanes of the threads that live, and of some that are dead; none if another thread held the gate too long.</summary>
        internal void Lanes(List<Lane> all)
        {
            if (gate.Enter())
            {
                try
                {
                    for (int i = 0; i < lanes.Count; i++)
                    {
                        all.Add(lanes[i]);
                    }
                }
                finally
                {
                    gate.Leave();
                }
            }
        }

        /// <summary>Gives a lane a chunk that begins with a segment of its thread; its own is full.</summary>
        internal Taken Next(Lane lane, int thread, int segment, long now, bool room)
        {
            bool tried = true;
            long* chunk = Take(lane, now, room, ref tried);
            if (chunk == null)
            {
                return tried ? Taken.None : Taken.NotTried;
            }
            Start(chunk, Format.Records, (long)segment << 32 | (long)(uint)thread, now);
            lane.Move(chunk, chunk + Format.ChunkHeadWords, thread, now);
            return Taken.Chunk;
        }

        /// <summary>Copies a symbols map; false if it does not find room.</summary>
        internal bool Symbols(int map, byte[] bytes)
        {
            const int Most = Format.Chunk - 8 * Format.ChunkHeadWords;
            int parts = (bytes.Length + Most - 1) / Most;
            if ((long)parts * Format.Chunk > settings.Limit / 2)
            {
                return false;
            }
            for (int part = 0; part < parts; part++)
            {
                bool tried = true;
                long* chunk = Take(null, Clock.Now(), true, ref tried);
                if (chunk == null)
                {
                    return false;
                }
                int used = Math.Min(Most, bytes.Length - part * Most);
                var data = (byte*)(chunk + Format.ChunkHeadWords);
                for (int i = 0; i < used; i++)
                {
                    data[i] = bytes[part * Most + i];
                }
                Start(chunk, Format.Symbols, (long)part << 32 | (long)(uint)map, (long)bytes.Length << 32 | (long)(uint)used);
            }
            return true;
        }

        /// <summary>A chunk that stays, the number-th of its kind; null if there is none now.</summary>
        internal long* Kept(int kind, int number)
        {
            bool tried = true;
            long* chunk = Look(null, true, ref tried); // nobody waits for a consumer here
            if (chunk == null)
            {
                return null;
            }
            if (chunk[0] != 0)
            {
                Clear(chunk);
            }
            Start(chunk, kind, number, Clock.Now());
            return chunk;
        }

        /// <summary>
        /// What threads have counted: adds those that live to <paramref name="live"/>, and what those have that died since the last time
        /// to <paramref name="past"/>; and what they have summed up. False if another thread held the gate too long.
        /// </summary>
        internal bool Tables(List<Tally> live, Tally past, List<Sums> liveSums, List<Sums> goneSums)
        {
            List<Tally> gone = null;
            if (!gate.Enter())
            {
                return false;
            }
            try
            {
                Collect(live, liveSums);
                if (dead.Count > 0)
                {
                    gone = new List<Tally>();
                    for (int i = 0; i < dead.Count; i++)
                    {
                        gone.Add(dead[i]);
                    }
                    dead.RemoveRange(0, dead.Count);
                }
                for (int i = 0; i < deadSums.Count; i++)
                {
                    goneSums.Add(deadSums[i]);
                }
                deadSums.RemoveRange(0, deadSums.Count);
            }
            finally
            {
                gate.Leave();
            }
            for (int i = 0; gone != null && i < gone.Count; i++)
            {
                gone[i].AddTo(past);
            }
            return true;
        }

        /// <summary>Those of threads that live; false if another thread held the gate too long.</summary>
        internal bool Live(List<Tally> tallies, List<Sums> sums)
        {
            if (!gate.Enter())
            {
                return false;
            }
            try
            {
                Collect(tallies, sums);
                return true;
            }
            finally
            {
                gate.Leave();
            }
        }

        private void Collect(List<Tally> tallies, List<Sums> sums)
        {
            for (int i = 0; i < lanes.Count; i++)
            {
                if (!lanes[i].Tally.IsEmpty)
                {
                    tallies.Add(lanes[i].Tally);
                }
                if (!lanes[i].Table.IsEmpty)
                {
                    sums.Add(lanes[i].Table);
                }
            }
        }

        /// <summary>The process ends; background threads may go on.</summary>
        internal void End()
        {
            try
            {
                Counts.End(Header);
            }
            catch (Exception) // no memory
            {
                // Then those of a second ago stay.
            }
            if (gate.Enter())
            {
                try
                {
                    for (int i = 0; i < lanes.Count; i++)
                    {
                        lanes[i].Tell();
                    }
                }
                finally
                {
                    gate.Leave();
                }
            }
            Adrift();
            Header.SetEnd(Clock.Now());
            Companion companion = Companion;
            if (companion != null)
            {
                companion.End();
            }
        }

        /// <summary>Counts what hooks without a lane have lost.</summary>
        internal void Adrift()
        {
            long failed = Interlocked.Exchange(ref Recorder.Failed, 0);
            long stackShort = Interlocked.Exchange(ref Recorder.Short, 0);
            Header.AddLost(failed + stackShort);
            Header.AddFailures(failed);
            Header.AddShort(stackShort);
        }

        private void Start(long* chunk, int kind, long who, long clock)
        {
            chunk[1] = Interlocked.Increment(ref serials);
            chunk[2] = who;
            chunk[3] = clock;
            Volatile.Write(ref chunk[0], (long)kind << 32 | Format.ChunkMagic);
        }

        /// <summary>A chunk, all zero, in exchange for the lane's if it has one; or null.</summary>
        private long* Take(Lane lane, long now, bool room, ref bool tried)
        {
            if (dry && now - Volatile.Read(ref drySince) < DrySpell)
            {
                return null;
            }
            long* chunk = Look(lane, room, ref tried);
            if (!tried)
            {
                chunk = Send(lane);
                tried = chunk != null;
                if (!tried)
                {
                    return null;
                }
            }
            if (chunk == null && settings.Policy == Settings.Block && !dry && !file.IsCut)
            {
                chunk = Await(lane, room);
            }
            if (chunk == null)
            {
                Volatile.Write(ref drySince, Clock.Now());
                dry = true;
                if (room)
                {
                    Trace.GrowthStopped(this);
                }
                return null;
            }
            dry = false;
            if (chunk[0] != 0)
            {
                Clear(chunk);
            }
            return chunk;
        }

        /// <summary>
        /// Looks again and again for a chunk that a consumer has given back: as long as the consumer lives, and for the
        /// user's patience behind its last sign of life. Once that was in vain nobody waits any more until one is found.
        /// </summary>
        private long* Await(Lane lane, bool room)
        {
            bool interrupted = false;
            bool tried = true;
            long* chunk = null;
            long start = Clock.Now();
            long heartbeat = Header.Heartbeat;
            while (chunk == null && !dry && Clock.Now() - start < settings.Patience * 1000000)
            {
                if (Header.Heartbeat != heartbeat)
                {
                    heartbeat = Header.Heartbeat;
                    start = Clock.Now();
                }
                try
                {
                    Thread.Sleep(Nap);
                }
                catch (ThreadInterruptedException)
                {
                    interrupted = true;
                }
                chunk = Look(lane, room, ref tried);
            }
            if (interrupted)
            {
                Thread.CurrentThread.Interrupt();
            }
            return chunk;
        }

        /// <summary>Has the supplier make the file grow, and waits for it.</summary>
        private long* Send(Lane lane)
        {
            if (alone || supplier == null)
            {
                return null;
            }
            bool interrupted = false;
            bool tried = false;
            long* chunk = null;
            long start = Clock.Now();
            while (!tried && Clock.Now() - start < Errand)
            {
                supplier.Wake();
                try
                {
                    Thread.Sleep(1);
                }
                catch (ThreadInterruptedException)
                {
                    interrupted = true;
                }
                tried = true;
                chunk = Look(lane, false, ref tried);
            }
            alone = !tried;
            if (interrupted)
            {
                Thread.CurrentThread.Interrupt();
            }
            return chunk;
        }

        private long* Look(Lane lane, bool room, ref bool tried)
        {
            long* old = lane == null ? null : lane.Words;
            while (true)
            {
                if (file.IsCut || !gate.Enter())
                {
                    return null;
                }
                long* chunk;
                bool grows;
                try
                {
                    long* word;
                    chunk = free.Take(out word);
                    if (chunk == null && settings.Policy != Settings.Ring && Header.Heartbeat != 0)
                    {
                        Reclaim(); // what a consumer has given back, before the file grows
                        chunk = free.Take(out word);
                    }
                    grows = chunk == null && file.MayGrow;
                    if (grows && !room)
                    {
                        tried = false;
                        return null;
                    }
                    if (chunk == null && !grows)
                    {
                        if (settings.Policy == Settings.Ring)
                        {
                            chunk = Oldest(old);
                        }
                        else
                        {
                            Reclaim();
                            chunk = free.Take(out word);
                        }
                    }
                    if (chunk != null && old != null && chunk != old)
                    {
                        Retire(old, lane.At);
                    }
                }
                finally
                {
                    gate.Leave();
                }
                if (grows && ahead < MostAhead)
                {
                    ahead *= 2; // not exact when threads collide here
                }
                if (supplier != null && 2 * free.Count <= ahead)
                {
                    supplier.Wake();
                }
                if (!grows)
                {
                    return chunk;
                }
                // The supplier is behind, or there is none: the little that is needed now.
                if (!More(Format.Chunk, 1) && file.MayGrow)
                {
                    return null;
                }
            }
        }

        private void Add(long* first, int count)
        {
            int all = chunks + count;
            free.Extend(all);
            retired.Extend(all);
            resting.Extend(all);
            chunks = all;
            for (int i = 0; i < count; i++)
            {
                free.Add(first + i * Format.ChunkWords, null);
            }
        }

        private void Retire(long* chunk, long* at)
        {
            Volatile.Write(ref *at, Format.Escape(Format.End, 0, 0));
            retired.Add(chunk, null);
            filled++;
        }

        /// <summary>The part of the limit that no chunk has used so far, or that was given back: below 0 where the ring has begun anew.</summary>
        internal double Room
        {
            get { return 1 - (double)(Volatile.Read(ref serials) - Header.TakenOut) * Format.Chunk / settings.Limit; }
        }

        /// <summary>
        /// The last of the chunks that have become full since so many were, some at most, and how many have now. Others may get them at any
        /// time. False if another thread held the gate too long.
        /// </summary>
        internal bool Filled(List<IntPtr> last, int most, ref long before)
        {
            if (!gate.Enter())
            {
                return false;
            }
            try
            {
                long count = Math.Min(Math.Min(most, retired.Count), filled - before);
                for (int i = 1; i <= count; i++)
                {
                    last.Add(retired.Last(i));
                }
                before = filled;
                return true;
            }
            finally
            {
                gate.Leave();
            }
        }

        /// <summary>The ring's next chunk: the oldest that no thread is at; if there is none, the asker's own.</summary>
        private long* Oldest(long* own)
        {
            if (retired.IsEmpty && resting.IsEmpty)
            {
                Sweep();
            }
            long* word;
            long* chunk;
            if (retired.IsEmpty && resting.IsEmpty)
            {
                chunk = own;
            }
            else if (resting.IsEmpty || (!retired.IsEmpty && retired.Peek()[1] < resting.Peek()[1]))
            {
                chunk = retired.Take(out word);
            }
            else
            {
                chunk = resting.Take(out word);
            }
            if (chunk != null)
            {
                Header.AddOverwritten(CountRecords(chunk));
            }
            return chunk;
        }

        private static int CountRecords(long* chunk)
        {
            int count = 0;
            for (int i = Format.ChunkHeadWords; i < Format.ChunkWords; i++)
            {
                long word = chunk[i];
                if (word == 0)
                {
                    break;
                }
                if ((word & 3) != 0)
                {
                    count++;
                    continue;
                }
                int type = (int)(word >> 2) & 0x3F;
                if (type == Format.Begin || type == Format.Complete)
                {
                    count++;
                }
                i += (int)((uint)word >> 8);
            }
            return count;
        }

        /// <summary>Takes back what a consumer has given back.</summary>
        private void Reclaim()
        {
            for (int n = retired.Count; n > 0; n--)
            {
                long* word;
                long* chunk = retired.Take(out word);
                if ((int)Volatile.Read(ref chunk[0]) == Format.FreeMagic)
                {
                    free.Add(chunk, null);
                }
                else
                {
                    retired.Add(chunk, null);
                }
            }
        }

        /// <summary>Forgets the lanes of dead threads and keeps their chunks for others.</summary>
        private void Sweep()
        {
            dead.Capacity = Math.Max(dead.Capacity, dead.Count + lanes.Count); // so that nothing fails below
            deadSums.Capacity = Math.Max(deadSums.Capacity, deadSums.Count + lanes.Count);
            int kept = 0;
            for (int i = 0; i < lanes.Count; i++)
            {
                Lane lane = lanes[i];
                Thread thread;
                if (lane.Thread.TryGetTarget(out thread) && thread.IsAlive)
                {
                    lanes[kept++] = lane;
                    continue;
                }
                Thread.MemoryBarrier();
                lane.Tell();
                if (!lane.Tally.IsEmpty)
                {
                    dead.Add(lane.Tally);
                }
                if (!lane.Table.IsEmpty)
                {
                    deadSums.Add(lane.Table);
                }
                if (lane.Words == null)
                {
                    continue;
                }
                if (lane.Words + Format.ChunkWords - lane.At >= Worthwhile)
                {
                    resting.Add(lane.Words, lane.At);
                }
                else
                {
                    Retire(lane.Words, lane.At);
                }
            }
            lanes.RemoveRange(kept, lanes.Count - kept);
        }
    }
}
