using System;
using System.Collections.Generic;
using System.Threading;

namespace Weave.Runtime
{
    /// <summary>
    /// The sums of methods that are summed up, in the trace: chunks of their own, which stay, and in which each id has a place where
    /// its sum so far is kept up to date. <see cref="Counts"/> calls it, and holds its gate meanwhile.
    /// </summary>
    internal sealed unsafe class Aggregates
    {
        /// <summary>Tables may take so much memory.</summary>
        private const long Most = 64 << 20;
        private const int Half = (Format.ChunkWords - Format.ChunkHeadWords) / 2;
        /// <summary>Words of an entry in front of its buckets.</summary>
        private const int Head = 7;
        private const int MostTold = 10000;
        private const long Second = 1000000000;

        /// <summary>Where an id's sum is; and itself what dead threads have added, or all that was added at once.</summary>
        private sealed class Place : Sum
        {
            /// <summary>Null if there is no room for it.</summary>
            internal long* At;
            internal int First;
            internal int Count;
            /// <summary>Its calls, if there is no room for them.</summary>
            internal long Homeless;
            /// <summary>The round in which it was written last.</summary>
            internal int Round;

            internal Place(int id) : base(id)
            {
            }
        }

        private readonly Store store;
        private readonly Sums places = new Sums();
        private long room = Most;
        /// <summary>The chunk for new places, where those begin, and the one that comes next.</summary>
        private long* chunk;
        private int at;
        private long* spare;
        private int chunks;
        private int round;
        /// <summary>SLOW escapes of this second, of all threads; it began at <see cref="since"/>.</summary>
        private int told;
        private long since;

        internal Aggregates(Store store)
        {
            this.store = store;
        }

        /// <summary>Whether a table may have one more sum.</summary>
        internal bool Take()
        {
            if (Interlocked.Add(ref room, -Sum.Cost) >= 0)
            {
                return true;
            }
            Interlocked.Add(ref room, Sum.Cost);
            return false;
        }

        /// <summary>Whether a thread may write one more SLOW escape in this second: about <see cref="MostTold"/> of all threads.</summary>
        internal bool Tells(long now)
        {
            if (now - Volatile.Read(ref since) >= Second)
            {
                Volatile.Write(ref since, now);
                Volatile.Write(ref told, 0);
            }
            return Volatile.Read(ref told) < MostTold && Interlocked.Increment(ref told) <= MostTold;
        }

        /// <summary>Has a chunk before it is needed: there may be none then.</summary>
        internal void Reserve()
        {
            if (spare == null && (chunk == null || Format.ChunkWords - at < Half))
            {
                spare = store.Kept(Format.Aggregates, chunks);
                chunks += spare == null ? 0 : 1;
            }
        }

        /// <summary>Writes what has changed: tables of threads that live, and of some that have died.</summary>
        internal void Write(List<Sums> live, List<Sums> dead)
        {
            round++;
            var changed = new List<Sum>();
            for (int i = 0; i < dead.Count; i++)
            {
                Sum[] all = dead[i].All;
                for (int n = 0; n < all.Length; n++)
                {
                    if (all[n] != null)
                    {
                        all[n].AddTo(PlaceOf(all[n].Id));
                        Interlocked.Add(ref room, Sum.Cost);
                        changed.Add(all[n]);
                    }
                }
            }
            for (int i = 0; i < live.Count; i++)
            {
                Sum[] all = live[i].All;
                for (int n = 0; n < all.Length; n++)
                {
                    Sum sum = Volatile.Read(ref all[n]);
                    if (sum != null && sum.Seen != sum.Turns)
                    {
                        sum.Seen = sum.Turns;
                        changed.Add(sum);
                    }
                }
            }
            for (int n = 0; n < changed.Count; n++)
            {
                Place place = PlaceOf(changed[n].Id);
                if (place.Round == round)
                {
                    continue;
                }
                place.Round = round;
                var whole = new Sum(place.Id);
                place.AddTo(whole);
                for (int i = 0; i < live.Count; i++)
                {
                    Sum sum = live[i].Get(place.Id);
                    if (sum != null)
                    {
                        sum.AddTo(whole);
                    }
                }
                Put(place, whole);
            }
        }

        /// <summary>Calls that are nowhere in the trace.</summary>
        internal long Homeless
        {
            get
            {
                long sum = 0;
                Sum[] all = places.All;
                for (int i = 0; i < all.Length; i++)
                {
                    sum += all[i] == null ? 0 : ((Place)all[i]).Homeless;
                }
                return sum;
            }
        }

        /// <summary>The sum of an id in the trace itself: where no thread of the library's own may be.</summary>
        internal Sum Direct(int id)
        {
            return PlaceOf(id);
        }

        /// <summary>Brings that up to date; false if there is no room for it.</summary>
        internal bool Put(int id)
        {
            Place place = PlaceOf(id);
            Put(place, place);
            return place.At != null;
        }

        private Place PlaceOf(int id)
        {
            Sum place = places.Get(id);
            if (place == null)
            {
                place = new Place(id);
                places.Add(place);
            }
            return (Place)place;
        }

        private void Put(Place place, Sum sum)
        {
            long[] words = sum.Words;
            var low = (int)words[Sum.Low];
            int buckets = words.Length - Sum.Head;
            bool fits = place.At != null && (buckets == 0 || low >= place.First && low + buckets <= place.First + place.Count);
            long* to = place.At;
            int first = place.First;
            int count = place.Count;
            if (!fits)
            {
                if (place.At != null)
                {
                    // Twice as many, so that this does not happen often.
                    int high = Math.Max(low + buckets, first + count);
                    first = Math.Min(low, first);
                    count = Math.Min(Sum.Buckets - first, Math.Max(high - first, 2 * count));
                }
                else
                {
                    first = buckets == 0 ? 16 : low;
                    count = Math.Min(Sum.Buckets - first, Math.Max(buckets, 16));
                }
                if (chunk == null || at + Head + count > Format.ChunkWords)
                {
                    Reserve();
                    if (spare == null)
                    {
                        place.Homeless = place.At == null ? words[Sum.Calls] : 0;
                        return;
                    }
                    chunk = spare;
                    spare = null;
                    at = Format.ChunkHeadWords;
                }
                to = chunk + at;
                at += Head + count;
                place.Homeless = 0;
            }
            for (int i = 0; i < Sum.Ended; i++)
            {
                Keep(to + 1 + i, i == Sum.Min && words[Sum.Ended] == 0 ? 0 : words[i]);
            }
            for (int i = 0; i < buckets; i++)
            {
                Keep(to + Head + low - first + i, words[Sum.Head + i]);
            }
            if (!fits)
            {
                Volatile.Write(ref *to, (long)count << 40 | (long)first << 32 | (long)(uint)sum.Id); // who sees the id sees its sum
                place.At = to;
                place.First = first;
                place.Count = count;
            }
        }

        private static void Keep(long* word, long value)
        {
            if (*word != value)
            {
                Volatile.Write(ref *word, value);
            }
        }
    }
}
