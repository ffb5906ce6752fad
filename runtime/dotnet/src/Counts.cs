using System;
using System.Collections.Generic;
using System.Threading;

namespace Weave.Runtime
{
    /// <summary>
    /// The counts of methods that are only counted, in the trace: chunks of their own, which stay, and in which each id has a
    /// place where its count so far is kept up to date. Once a second what threads have counted is summed up. So is
    /// what they have in <see cref="Sums"/>.
    /// </summary>
    internal sealed unsafe class Counts
    {
        private const long Second = 1000000000;
        private const int PerChunk = (Format.ChunkWords - Format.ChunkHeadWords) / 2;

        private readonly Store store;
        /// <summary>Held by who writes.</summary>
        private readonly Gate gate = new Gate();
        private readonly List<IntPtr> chunks = new List<IntPtr>();
        /// <summary>Each id's place in them, from 1.</summary>
        private readonly Tally places = new Tally();
        private int used;
        internal readonly Aggregates Aggregates;
        /// <summary>What dead threads have counted.</summary>
        private readonly Tally past = new Tally();
        private readonly Tally sum = new Tally();
        /// <summary>Something was counted.</summary>
        private volatile bool counting;
        /// <summary>Something was summed up.</summary>
        private volatile bool summing;
        private long next;
        /// <summary>Calls whose counts have no place.</summary>
        private long homeless;

        internal Counts(Store store)
        {
            this.store = store;
            Aggregates = new Aggregates(store);
        }

        /// <summary>A thread counts something for the first time, or sums it up.</summary>
        internal void Begin(bool sums)
        {
            if (sums ? !summing : !counting)
            {
                Volatile.Write(ref next, Clock.Now() + Second);
                summing |= sums;
                counting |= !sums;
                store.Wake();
                if (Stack.HasRoom())
                {
                    Reserve(); // else the supplier's thread does it
                }
            }
        }

        /// <summary>Has a chunk before it is needed: there may be none then.</summary>
        private void Reserve()
        {
            if (!gate.Enter())
            {
                return;
            }
            try
            {
                if (summing)
                {
                    Aggregates.Reserve();
                }
                if (counting && chunks.Count * PerChunk - used < PerChunk / 2)
                {
                    Extend();
                }
            }
            finally
            {
                gate.Leave();
            }
        }

        private bool Extend()
        {
            long* chunk = store.Kept(Format.Counts, chunks.Count);
            if (chunk == null)
            {
                return false;
            }
            chunks.Add((IntPtr)chunk);
            return true;
        }

        /// <summary>How long until <see cref="Turn"/> has something to do, in milliseconds; -1 for ever.</summary>
        internal int Pause
        {
            get { return counting || summing ? (int)Math.Max(1, (Volatile.Read(ref next) - Clock.Now()) / 1000000) : -1; }
        }

        /// <summary>Writes, if it is time. For the supplier's thread.</summary>
        internal void Turn()
        {
            if ((counting || summing) && Volatile.Read(ref next) - Clock.Now() <= 0)
            {
                Volatile.Write(ref next, Clock.Now() + Second);
                Write();
                Reserve();
            }
        }

        /// <summary>Brings the trace up to date.</summary>
        internal void Write()
        {
            if (!counting && !summing || !gate.Enter())
            {
                return;
            }
            try
            {
                var live = new List<Tally>();
                var liveSums = new List<Sums>();
                var deadSums = new List<Sums>();
                if (!store.Tables(live, past, liveSums, deadSums))
                {
                    return;
                }
                Aggregates.Write(liveSums, deadSums);
                sum.Clear();
                past.AddTo(sum);
                for (int i = 0; i < live.Count; i++)
                {
                    live[i].AddTo(sum);
                }
                homeless = 0;
                long[] cells = sum.Cells;
                for (int i = 0; i < cells.Length; i += 2)
                {
                    if (cells[i + 1] != 0 && !Put((int)cells[i], cells[i + 1]))
                    {
                        homeless += cells[i + 1];
                    }
                }
            }
            finally
            {
                gate.Leave();
            }
        }

        /// <summary>The process ends: counts as lost what has found no place.</summary>
        internal void End(Header header)
        {
            Write();
            header.AddLost(homeless + Aggregates.Homeless);
        }

        /// <summary>Counts a call at once, in the trace itself: where no thread of the library's own may be. False if that cannot be.</summary>
        internal bool Direct(int id)
        {
            if (!gate.Enter())
            {
                return false;
            }
            try
            {
                long place = places.Count(id);
                return Put(id, place == 0 ? 1 : At(place)[1] + 1);
            }
            finally
            {
                gate.Leave();
            }
        }

        /// <summary>Begins a call at once, or ends it, in the trace itself: where no thread of the library's own may be. False if that cannot be.</summary>
        internal bool Direct(int id, Frame ended, long took, bool failed, bool outermost)
        {
            if (!gate.Enter())
            {
                return false;
            }
            try
            {
                if (ended == null)
                {
                    Aggregates.Direct(id).Begin();
                }
                else
                {
                    Aggregates.Direct(id).End(took, Math.Max(0, took - ended.Inner), failed, outermost);
                }
                return Aggregates.Put(id);
            }
            finally
            {
                gate.Leave();
            }
        }

        /// <summary>Writes an id's count; false if there is no place for it.</summary>
        private bool Put(int id, long count)
        {
            long place = places.Count(id);
            if (place != 0)
            {
                if (At(place)[1] != count)
                {
                    Volatile.Write(ref At(place)[1], count);
                }
                return true;
            }
            if (used == chunks.Count * PerChunk && !Extend())
            {
                return false;
            }
            places.Add(id, ++used);
            long* at = At(used);
            at[1] = count;
            Volatile.Write(ref at[0], (long)(uint)id); // who sees the id sees its count
            return true;
        }

        /// <summary>Where an id is; its count is behind it.</summary>
        private long* At(long place)
        {
            int number = (int)(place - 1);
            return (long*)chunks[number / PerChunk] + Format.ChunkHeadWords + 2 * (number % PerChunk);
        }
    }
}
