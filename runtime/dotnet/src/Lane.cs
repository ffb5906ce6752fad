using System;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Weave.Runtime
{
#pragma warning disable CS0169, CS0649 // never used, on purpose
    /// <summary>Cache lines in front of what one thread writes all the time, so that no other thread writes to the same.</summary>
    internal class Padding
    {
        private long p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13, p14, p15, p16;
    }
#pragma warning restore CS0169, CS0649

    /// <summary>What the library knows of one thread, and the place at which it writes; only that thread touches it.</summary>
    [DebuggerStepThrough]
    internal sealed unsafe class Lane : Padding
    {
        /// <summary>How a logical call goes on, where that takes more than an enter or an exit.</summary>
        internal enum What
        {
            Begin,
            End,
            Fail,
            Complete,
            CompleteFailed,
        }

        /// <summary>Of threads that are not recorded, and of a thread while its lane is made. Never written to.</summary>
        internal static readonly Lane Mute = new Lane();

        /// <summary>
        /// Words at the end of each chunk for a LOST escape, so that a thread that gets no other chunk can still say so,
        /// and for the END escape.
        /// </summary>
        private const int Reserved = 3;
        /// <summary>A thread adds so many lost records at once to the header, which all threads share.</summary>
        private const int Batch = 1024;
        /// <summary>A thread takes so many numbers of logical calls at once.</summary>
        private const int Numbers = 1024;
        /// <summary>Instead of the flags of a LOGICAL escape: no such escape; a SAMPLED one.</summary>
        private const int Plain = -1;
        private const int Weighed = -2;

        /// <summary>Instead of a weight: no sampled call is open; one is open that was not taken.</summary>
        internal const int NoTree = 0;
        internal const int PassedTree = -1;
        /// <summary>Bits of a tree where it is kept, as 1 more.</summary>
        private const int TreeBits = 25;
        /// <summary>The most pieces of sampled calls that run within one another.</summary>
        private const int DeepestPieces = 1 << 16;

        private static readonly long[] Nothing = new long[0];
        private static readonly Frame[] NoFrames = new Frame[0];
        /// <summary>The most open calls that are summed up; and where they are looked through, as each is added to the trace at once.</summary>
        private const int Deepest = 1 << 16;
        private const int DeepestDirect = 1 << 10;
        /// <summary>Longer than any gap.</summary>
        private const long Among = 1L << 62;
        private static long nextNumbers = 1;

        /// <summary>The chunk, or null.</summary>
        internal long* Words;
        /// <summary>The word to be written next.</summary>
        internal long* At;
        /// <summary>Where the fast paths have to stop: where the chunk's room ends, or null when they must not be taken.</summary>
        private long* end;
        /// <summary>The chunk's clock.</summary>
        private long last;
        /// <summary>Where the chunk's room ends.</summary>
        private long* limit;
        /// <summary>The logical thread of the current segment: another one's where that has died and left its chunk.</summary>
        private int owner;

        /// <summary>What this thread counts in, from <see cref="Tally"/>; empty where it takes the slow path.</summary>
        private long[] cells = Runtime.Tally.Empty;
        internal readonly Tally Tally = new Tally();

        /// <summary>Open calls that are summed up, in the lower <see cref="depth"/> places.</summary>
        private Frame[] frames = NoFrames;
        private int depth;
        /// <summary>Such calls beyond those that frames are kept for: they are only counted.</summary>
        private int beyond;
        /// <summary>Sums of this thread, from <see cref="Table"/>.</summary>
        private Sum[] sums = Sums.Empty;
        internal readonly Sums Table = new Sums();
        /// <summary><see cref="Among"/> where records have to do with calls that are summed up, else 0.</summary>
        private long among;
        /// <summary>Time in calls that were summed up, below the innermost recorded call, which does not know of it yet.</summary>
        private long owed;

        /// <summary>How many calls the sampled one stands for that is open, and decides about those below it.</summary>
        internal int Tree;
        /// <summary>Of pieces of taken calls that run: the call's number, and above which tree.</summary>
        private long[] pieces = Nothing;
        private int running;
        /// <summary>One of so many outermost calls is taken: how many are left of these, and with how many left that is.</summary>
        private int every;
        private int left;
        private int pick;
        private uint seed;

        private readonly Store store;
        internal readonly int ThreadNumber;
        /// <summary>The thread's CPU clock, or 0; and what it has shown.</summary>
        internal readonly int CpuClock;
        internal long CpuTime;
        internal readonly WeakReference<Thread> Thread;

        /// <summary>The thread is inside the library: hooks called now, by woven code that the library calls, do nothing.</summary>
        internal bool Busy;
        /// <summary>Results that are recorded when the task is complete which this thread is to follow next.</summary>
        internal Later Results;
        /// <summary>The id of the method whose logical call begins next, and above it what was decided about that; or 0.</summary>
        private long passed;
        /// <summary>The span in which this thread runs, as far as it was told; null where there is none.</summary>
        internal Span Within;
        /// <summary>The context that came in with the span which begins next, or null.</summary>
        internal Parent From;
        /// <summary>The same: what was given with objects, or null.</summary>
        internal Origin Origin;
        /// <summary>The innermost method of this thread that takes contexts, or null.</summary>
        internal Turn Turn;
        /// <summary>The span that the logical call is which begins next, or null.</summary>
        internal Span Next;
        /// <summary>What the last id was made of; 0, none yet.</summary>
        private ulong random;
        /// <summary>The thread is the library's own, and has samples alone.</summary>
        internal bool Own;
        /// <summary>The name in <see cref="introduction"/>.</summary>
        private string name;
        private long[] introduction;
        /// <summary><see cref="Secrets.Changes"/> when it was made.</summary>
        private int introduced;
        /// <summary>Number of the next segment.</summary>
        private int segment;
        /// <summary>Lost records for which no LOST escape was written yet.</summary>
        private long lost;
        /// <summary>Lost records not yet added to the header. Whoever adds them takes them: the thread, or the end of the process.</summary>
        internal int Untold;
        /// <summary>Of these, those whose hook failed.</summary>
        internal int Failed;
        /// <summary>Of these, those for which the stack was short.</summary>
        internal int Short;
        /// <summary>The payload of the LOST escape that ends the data so far, or null.</summary>
        private long* lostAt;
        /// <summary>The exception that was described last.</summary>
        private readonly WeakReference<Exception> thrown;
        /// <summary>It was described without its message, as rules say.</summary>
        private bool silenced;
        /// <summary>For a SLOW escape: telling of a call allocates nothing.</summary>
        private readonly long[] slow = new long[3];
        /// <summary>The number of the next logical call, if it is below the other.</summary>
        private long nextNumber;
        private long endOfNumbers;

        private Lane()
        {
            Busy = true;
        }

        internal Lane(Store store, int number, Thread thread)
        {
            this.store = store;
            ThreadNumber = number;
            seed = First(store.Draws, number);
            CpuClock = Posix.ThreadClock();
            Thread = new WeakReference<Thread>(thread);
            thrown = new WeakReference<Exception>(null);
        }

        /// <summary>Goes on at a word of a chunk.</summary>
        internal void Move(long* chunk, long* word, int thread, long now)
        {
            Words = chunk;
            At = word;
            limit = chunk + (Format.ChunkWords - Reserved);
            owner = thread;
            last = now;
        }

        /// <summary>Enter, exit, or an error of an exception that is known. The whole hot path.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        internal void Record(int kind, int id, long now)
        {
            long gap = now - last;
            long* word = At;
            if (word < end && (ulong)(gap | among) >> Format.GapBits == 0)
            {
                *word = (long)id << 32 | gap << 2 | (long)(uint)kind;
                At = word + 1;
                last = now;
            }
            else
            {
                RecordBetween(kind, id, now);
            }
        }

        /// <summary>What becomes of a call that is sampled, one of <paramref name="number"/> or so many a second: its state (<see cref="Modes"/>).</summary>
        /// <param name="logical">It is a logical call: each of its pieces opens its tree. Else it is the call itself that does.</param>
        internal int Sampled(int number, bool second, bool logical)
        {
            if (Busy)
            {
                return Modes.Nothing;
            }
            int tree = Tree;
            if (tree == NoTree)
            {
                int weight = second ? Limiter.Of(number).Take(Clock.Now()) : OneOf(number);
                tree = weight == 0 ? PassedTree : weight;
                if (!logical)
                {
                    Tree = tree;
                }
            }
            else if (!logical)
            {
                return tree == PassedTree ? Modes.Nothing : Modes.Recorded;
            }
            return tree == PassedTree ? Modes.Passed : Modes.Taken(tree);
        }

        /// <summary>A piece of a taken call begins: it decides about what it calls.</summary>
        private void Open(long call, int weight)
        {
            if (Tree == NoTree)
            {
                running = 0; // what there is has lost its end
            }
            if (running < pieces.Length || Widen())
            {
                pieces[running++] = call << TreeBits | (long)(uint)(Tree + 1);
                Tree = weight;
            }
        }

        /// <summary>It ends: the tree is that which was there before.</summary>
        internal void Close(long call)
        {
            int at = running - 1;
            while (at >= 0 && pieces[at] >> TreeBits != call)
            {
                at--; // its end was lost
            }
            if (at >= 0)
            {
                running = at;
                Tree = (int)(pieces[at] & ((1 << TreeBits) - 1)) - 1;
            }
        }

        /// <summary>Whether there is room for another piece.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        private bool Widen()
        {
            if (pieces.Length >= DeepestPieces)
            {
                return false;
            }
            try
            {
                var next = new long[Math.Max(16, 2 * pieces.Length)];
                for (int i = 0; i < running; i++)
                {
                    next[i] = pieces[i];
                }
                pieces = next;
                return true;
            }
            catch (Exception) // no memory
            {
                return false;
            }
        }

        /// <summary>
        /// What the draws of a thread begin with, never 0. Those of numbers that follow one another lie evenly, from a place on that is the
        /// process's.
        /// </summary>
        private static uint First(ulong draws, int number)
        {
            uint seed = unchecked((uint)(draws >> 32 ^ draws) * 0x9E3779B1 + (uint)number * 0x9E3779B9);
            return seed == 0 ? 1 : seed;
        }

        private int OneOf(int number)
        {
            if (left == 0 || every != number)
            {
                every = number;
                left = number;
                // Anew each time: calls that take turns have all their share.
                pick = (int)((ulong)seed * (uint)number >> 32);
                seed ^= seed << 13;
                seed ^= seed >> 17;
                seed ^= seed << 5;
            }
            return --left == pick ? number : 0;
        }

        /// <summary>The enter record of an outermost sampled call, and right in front of it for how many it stands.</summary>
        internal void Outermost(int id, int weight, long now)
        {
            Marked(Format.Escape(Format.Sampled, 1, id), weight, Weighed, id, now);
        }

        /// <summary>About the next logical call of this method something was decided.</summary>
        internal void Pass(int state, int id)
        {
            if (!Busy)
            {
                passed = (long)state << 32 | (long)(uint)id;
            }
        }

        /// <summary>What that was.</summary>
        internal int TakePassed(int id)
        {
            if ((int)passed != id)
            {
                return Modes.Nothing;
            }
            var state = (int)(passed >> 32);
            passed = 0;
            return state;
        }

        /// <summary>The span of a logical call of this method that begins, or null.</summary>
        internal Span TakeNext(int id)
        {
            Span next = Next;
            Next = null;
            return next != null && next.Method == id ? next : null;
        }

        /// <summary>A call begins that is a span.</summary>
        internal void Begin(Span span, int id, long now)
        {
            Between(Format.Enter, id, now);
            State(span, id);
            Slow(Format.Enter, id, now, Plain, 0, null, span.Begun());
            span.Segment = segment;
        }

        /// <summary>The first piece of a logical call that is a span.</summary>
        internal void Begin(Span span, int id, long now, long call)
        {
            Between(Format.Enter, id, now);
            State(span, id);
            Slow(Format.Enter, id, now, Format.First, call, null, span.Begun());
            span.Segment = segment;
        }

        /// <summary>What came in beside a span's parent, and its links, in front of its begin.</summary>
        private void State(Span span, int id)
        {
            if (span.State != null)
            {
                Value(span.State, Format.Text, Span.StatePlace, Span.LongestState, null, id);
            }
            for (int i = 0; span.Links != null && i < span.Links.Count; i++)
            {
                Value(span.Links[i], Format.Text, Span.LinkPlace, Span.LongestLink, null, id);
            }
            span.Links = null;
        }

        /// <summary>A span begins that is no call of the thread.</summary>
        internal void BeginTold(Span span, int id, long now, long call)
        {
            Slow(Format.Begin, id, now, 0, call, null, span.BegunApart());
        }

        /// <summary>A call returns whose span goes on.</summary>
        internal void Stay(Span span, int id, long now)
        {
            Between(Format.Exit, id, now);
            Slow(Format.Exit, id, now, Plain, 0, null, new[] { Format.Escape(Format.Stays, 1, id), span.Id });
        }

        /// <summary>How many segments this thread has begun.</summary>
        internal int Segments
        {
            get { return segment; }
        }

        /// <summary>Tells the trace in what this thread runs from here on. A segment that begins says it anyway.</summary>
        internal void Change(int id)
        {
            if (Words != null && owner == ThreadNumber)
            {
                Slow(Format.None, id, Clock.Now(), Plain, 0, null, Span.Context(Within));
            }
        }

        /// <summary>Ids for a span, none of which is 0.</summary>
        internal Ids NewIds()
        {
            return new Ids { TraceHigh = NextId(), TraceLow = NextId(), Id = NextId() };
        }

        /// <summary>A number for an id, never 0 (splitmix64).</summary>
        private long NextId()
        {
            if (random == 0)
            {
                byte[] bytes = Guid.NewGuid().ToByteArray();
                for (int i = 0; i < 8; i++)
                {
                    random = random << 8 | (uint)(bytes[i] ^ bytes[i + 8]);
                }
            }
            ulong id;
            do
            {
                random = unchecked(random + 0x9E3779B97F4A7C15);
                id = random;
                id = unchecked((id ^ id >> 30) * 0xBF58476D1CE4E5B9);
                id = unchecked((id ^ id >> 27) * 0x94D049BB133111EB);
                id ^= id >> 31;
            }
            while (id == 0);
            return (long)id;
        }

        /// <summary>A segment of a logical call begins.</summary>
        internal void Resume(int mark, int id, long now, long call)
        {
            Marked(Format.Escape(Format.Logical, 1, mark), call, mark, id, now);
        }

        /// <summary>The same for a call that is sampled, and stands for so many.</summary>
        internal void Resume(int mark, int id, long call, int weight)
        {
            Open(call, weight);
            long now = Clock.Now();
            if (among != 0)
            {
                Between(Format.Enter, id, now);
            }
            long gap = now - last;
            long* word = At;
            if (word + 4 < end && (ulong)gap >> Format.GapBits == 0)
            {
                // As for a value.
                try
                {
                }
                finally
                {
                    word[4] = (long)id << 32 | gap << 2 | Format.Enter;
                    word[3] = weight;
                    word[2] = Format.Escape(Format.Sampled, 1, id);
                    word[1] = call;
                    Volatile.Write(ref word[0], Format.Escape(Format.Logical, 1, mark));
                    At = word + 5;
                    last = now;
                }
            }
            else
            {
                Slow(Format.Enter, id, now, mark, call, null, null, weight);
            }
        }

        /// <summary>An enter record, and right in front of it what an escape of one word says of it.</summary>
        private void Marked(long escape, long payload, int mark, int id, long now)
        {
            if (among != 0)
            {
                Between(Format.Enter, id, now);
            }
            long gap = now - last;
            long* word = At;
            if (word + 2 < end && (ulong)gap >> Format.GapBits == 0)
            {
                // As for a value.
                try
                {
                }
                finally
                {
                    word[2] = (long)id << 32 | gap << 2 | Format.Enter;
                    word[1] = payload;
                    Volatile.Write(ref word[0], escape);
                    At = word + 3;
                    last = now;
                }
            }
            else
            {
                Slow(Format.Enter, id, now, mark, payload, null);
            }
        }

        internal void Error(Exception e, int id, long now)
        {
            if (IsNew(e))
            {
                Between(Format.ErrorRecord, id, now);
                Slow(Format.ErrorRecord, id, now, Plain, 0, e);
            }
            else
            {
                Record(Format.ErrorRecord, id, now);
            }
        }

        /// <summary>The exception, null where what was thrown is none, ends the process, and with it the calls of this thread.</summary>
        internal void Unhandled(Exception e, long now)
        {
            Slow(Format.Unhandled, 0, now, 0, 0, e);
        }

        /// <summary>What befalls a logical call apart from being resumed and suspended.</summary>
        /// <param name="weight">How many calls it stands for, if it is sampled. Where a piece ends its begin has told.</param>
        internal void Logical(What what, int id, long now, long call, Exception e, int weight = 0)
        {
            Exception news = e != null && IsNew(e) ? e : null;
            switch (what)
            {
                case What.Begin:
                    Slow(Format.Begin, id, now, 0, call, null, null, weight);
                    break;
                case What.End:
                    Between(Format.Exit, id, now);
                    Slow(Format.Exit, id, now, Format.Last, call, null);
                    break;
                case What.Fail:
                    Between(Format.ErrorRecord, id, now);
                    Slow(Format.ErrorRecord, id, now, Format.Last, call, news);
                    break;
                case What.Complete:
                    Slow(Format.Complete, id, now, 0, call, null, null, weight);
                    break;
                default:
                    Slow(Format.Complete, id, now, 1, call, news, null, weight);
                    break;
            }
        }

        /// <summary>A number that no other logical call of this process has.</summary>
        internal long NextCall()
        {
            if (nextNumber == endOfNumbers)
            {
                endOfNumbers = Interlocked.Add(ref nextNumbers, Numbers);
                nextNumber = endOfNumbers - Numbers;
            }
            return nextNumber++;
        }

        private bool IsNew(Exception e)
        {
            Exception known;
            return thrown == null || e == null || !thrown.TryGetTarget(out known) || known != e;
        }

        /// <summary>A value of one word. <c>first</c> is that in front of it.</summary>
        internal void Value(long first, long data, int id)
        {
            long* word = At;
            if (word + 3 < end)
            {
                // An abort of the thread waits for the end of a finally: what is half written would be taken for records.
                try
                {
                }
                finally
                {
                    word[2] = data;
                    word[1] = first;
                    Volatile.Write(ref word[0], Format.Escape(Format.Value, 2, id));
                    At = word + 3;
                }
            }
            else
            {
                long[] escape = { Format.Escape(Format.Value, 2, id), first, data };
                Slow(Format.None, id, Clock.Now(), Plain, 0, null, escape);
            }
        }

        /// <summary>A value: what stands for it in the trace, as far as the limit goes.</summary>
        internal void Value(object v, int kind, int place, int limit, string mask, int id)
        {
            if (Busy)
            {
                return;
            }
            string[] everywhere = Secrets.OfValues;
            bool hides = mask != null || everywhere.Length != 0;
            long first = (uint)place;
            string text = v as string;
            if (v == null)
            {
                Text(first | Format.Null, "", 0, id);
                return;
            }
            if (text != null)
            {
                first |= Format.Text;
            }
            else if (kind == Format.Other)
            {
                text = Said(v);
                first |= (uint)(text == null ? Format.Note : Format.Other);
                text = text ?? v.GetType().ToString() + ".ToString failed";
            }
            else if (hides && IsWord(v) && Hides(v, first, limit, mask, id))
            {
                return;
            }
            else if (Number(v, first, id))
            {
                return;
            }
            else
            {
                text = hides ? Enough(v, limit, mask, everywhere) : Shown(v, limit, false);
                first |= Format.Other;
            }
            if (hides)
            {
                string masked = Mask.Apply(mask, everywhere, text, limit);
                first |= (uint)(ReferenceEquals(masked, text) ? 0 : Format.Masked);
                text = masked;
            }
            int length = text.Length;
            if (length > limit)
            {
                length = limit;
                first |= Format.Cut;
            }
            Text(first, text, length, id);
        }

        /// <summary>Records an object that is a number, a truth value or a unit of text; else does nothing.</summary>
        private bool Number(object v, long first, int id)
        {
            if (v is int)
            {
                Value(first | Format.Signed, (int)v, id);
            }
            else if (v is long)
            {
                Value(first | Format.Signed, (long)v, id);
            }
            else if (v is double)
            {
                double d = (double)v;
                Value(first | Format.Double, *(long*)&d, id);
            }
            else if (v is bool)
            {
                Value(first | Format.Boolean, (bool)v ? 1 : 0, id);
            }
            else if (v is short)
            {
                Value(first | Format.Signed, (short)v, id);
            }
            else if (v is byte)
            {
                Value(first | Format.Unsigned, (byte)v, id);
            }
            else if (v is uint)
            {
                Value(first | Format.Unsigned, (uint)v, id);
            }
            else if (v is ulong)
            {
                Value(first | Format.Unsigned, (long)(ulong)v, id);
            }
            else if (v is float)
            {
                float f = (float)v;
                Value(first | Format.Float, *(uint*)&f, id);
            }
            else if (v is char)
            {
                Value(first | Format.Unit, (char)v, id);
            }
            else
            {
                return false;
            }
            return true;
        }

        /// <summary>A number, a truth value or a unit of text that a mask holds for.</summary>
        internal void Masked(int kind, long word, int place, int limit, string mask, int id)
        {
            if (this == Mute)
            {
                return;
            }
            object v;
            switch (kind)
            {
                case Format.Boolean: v = word != 0; break;
                case Format.Unit: v = (char)word; break;
                case Format.Unsigned: v = (ulong)word; break;
                case Format.Float: v = *(float*)&word; break;
                case Format.Double: v = *(double*)&word; break;
                default: v = word; break;
            }
            Value(v, Format.Text, place, limit, mask, id);
        }

        private static bool IsWord(object v)
        {
            return v is int || v is long || v is double || v is bool || v is short || v is byte || v is sbyte || v is ushort || v is uint
                || v is ulong || v is float || v is char;
        }

        /// <summary>Writes the text of a number and the like in its place, if a mask takes something of it.</summary>
        private bool Hides(object v, long first, int limit, string mask, int id)
        {
            string whole = Texts.Of(v, limit);
            string text = Mask.Apply(mask, Secrets.OfValues, whole, limit);
            if (ReferenceEquals(text, whole))
            {
                return false;
            }
            int length = Math.Min(text.Length, limit);
            Text(first | (uint)Format.Other | (uint)Format.Masked | (uint)(length < text.Length ? Format.Cut : 0), text, length, id);
            return true;
        }

        private void Text(long first, string text, int length, int id)
        {
            int payload = 1 + ((length + 3) >> 2);
            first |= (long)length << 32;
            long* word = At;
            if (word + payload + 1 < end)
            {
                try
                {
                }
                finally
                {
                    long* to = word + 2;
                    for (int from = 0; from < length; from += 4)
                    {
                        *to++ = Units(text, from, length);
                    }
                    word[1] = first;
                    Volatile.Write(ref word[0], Format.Escape(Format.Value, payload, id));
                    At = word + 1 + payload;
                }
            }
            else
            {
                var escape = new long[1 + payload];
                escape[0] = Format.Escape(Format.Value, payload, id);
                escape[1] = first;
                for (int from = 0, to = 2; from < length; from += 4, to++)
                {
                    escape[to] = Units(text, from, length);
                }
                Slow(Format.None, id, Clock.Now(), Plain, 0, null, escape);
            }
        }

        /// <summary>Up to four units of a text as a word.</summary>
        private static long Units(string text, int from, int length)
        {
            if (from + 4 <= length)
            {
                return text[from] | (long)text[from + 1] << 16 | (long)text[from + 2] << 32 | (long)text[from + 3] << 48;
            }
            long word = 0;
            for (int i = length - 1; i >= from; i--)
            {
                word = word << 16 | text[i];
            }
            return word;
        }

        /// <summary>As much of an object's text as masks need. What is masked may go on behind the limit, but few texts have any of that.</summary>
        private static string Enough(object v, int limit, string mask, string[] everywhere)
        {
            const int Few = 32;
            string text = Shown(v, limit + Few, true);
            if (text.Length <= limit + Few)
            {
                return text;
            }
            text = text.Substring(0, limit + Few); // behind it a list that was cut may have ended
            return Mask.Touches(mask, everywhere, text, limit) ? Shown(v, limit + Mask.Window, true) : text;
        }

        /// <summary>An object as a text. What is woven is not recorded meanwhile: it may be the framework's collection that is asked.</summary>
        private static string Shown(object v, int limit, bool hides)
        {
            long error = LastError.Get();
            Lane lane = Recorder.Mute();
            try
            {
                string text = hides ? Texts.Units(v, limit) : null;
                return text ?? Texts.Of(v, limit);
            }
            catch (Exception) // a collection that another thread changes
            {
                return v.GetType().ToString();
            }
            finally
            {
                Recorder.Restore(lane);
                LastError.Set(error);
            }
        }

        /// <summary>What an object says of itself; null if it throws. What is woven is not recorded meanwhile.</summary>
        private static string Said(object v)
        {
            if (!Stack.HasRoom())
            {
                return null;
            }
            long error = LastError.Get();
            Lane lane = Recorder.Mute();
            try
            {
                return v.ToString() ?? "null";
            }
            catch (Exception)
            {
                return null;
            }
            finally
            {
                Recorder.Restore(lane);
                LastError.Set(error);
            }
        }

        /// <summary>Writes what the process uses. For the library's own thread, which has no other records.</summary>
        internal void Sample(long[] escape)
        {
            Own = true;
            Write(Format.None, 0, Clock.Now(), Plain, 0, escape, true);
        }

        /// <summary>A method begins that is only counted. The whole hot path.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        internal void Count(int id)
        {
            long[] table = cells;
            int at = Runtime.Tally.Place(table, id);
            if (table[at] == (long)(uint)id)
            {
                table[at + 1]++;
            }
            else
            {
                CountElsewhere(table, at, id);
            }
        }

        /// <summary>The same for an id that is not at the first place for it, or is new to this thread.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        private void CountElsewhere(long[] table, int at, int id)
        {
            while (table[at] != 0)
            {
                at = (at + 2) & (table.Length - 2);
                if (table[at] == (long)(uint)id)
                {
                    table[at + 1]++;
                    return;
                }
            }
            if (Busy)
            {
                return;
            }
            // An abort of the thread, which some hosts know, waits for the end of a finally.
            try
            {
            }
            finally
            {
                long error = LastError.Get();
                long* stop = end;
                Busy = true;
                end = null;
                cells = Runtime.Tally.Empty; // so that a nested hook comes here, and no further
                try
                {
                    if (!Host.IsCollectible)
                    {
                        store.Counts.Begin(false);
                        table = Tally.Add(id, 1);
                    }
                    else if (!Stack.HasRoom() || !store.Counts.Direct(id))
                    {
                        Uncounted();
                    }
                }
                catch (Exception)
                {
                    Uncounted();
                }
                cells = table;
                end = stop;
                Busy = false;
                LastError.Set(error);
            }
        }

        /// <summary>A method begins that is summed up. The whole hot path, as that of <see cref="Stop"/>.</summary>
        internal void Start(int id)
        {
            if (Busy)
            {
                return;
            }
            Sum[] all = sums;
            int at = Sums.Place(all, id);
            Sum sum = all[at];
            while (sum != null && sum.Id != id)
            {
                at = (at + 1) & (all.Length - 1);
                sum = all[at];
            }
            int top = depth;
            if (sum == null || top == frames.Length || beyond != 0)
            {
                StartSlowly(id);
                return;
            }
            Frame frame = frames[top];
            sum.Begin();
            Open(frame, id, sum, false);
        }

        private void Open(Frame frame, int id, Sum sum, bool counted)
        {
            frame.Id = id;
            frame.Sum = sum;
            frame.Counted = counted;
            frame.Inner = 0;
            frame.Recorded = 0;
            among = Among;
            depth++;
            frame.Start = Clock.Now(); // last: the look-up is not time of the method
        }

        /// <summary>The same for an id that is new to this thread.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        private void StartSlowly(int id)
        {
            if (beyond != 0 || !Deepen())
            {
                beyond++;
                Count(id);
                return;
            }
            Sum sum = null;
            bool counted = false;
            // An abort of the thread, which some hosts know, waits for the end of a finally.
            try
            {
            }
            finally
            {
                long error = LastError.Get();
                long* stop = end;
                long[] tally = cells;
                Busy = true;
                end = null;
                cells = Runtime.Tally.Empty;
                try
                {
                    if (!Host.IsCollectible)
                    {
                        store.Counts.Begin(true);
                        sum = Table.Get(id);
                        if (sum == null && store.Counts.Aggregates.Take())
                        {
                            sum = new Sum(id);
                            Table.Add(sum);
                            sums = Table.All;
                        }
                        counted = sum == null;
                    }
                    else if (!Stack.HasRoom() || !store.Counts.Direct(id, null, 0, false, false))
                    {
                        Uncounted();
                    }
                }
                catch (Exception)
                {
                    counted = true;
                }
                cells = tally;
                end = stop;
                Busy = false;
                LastError.Set(error);
            }
            if (sum != null)
            {
                sum.Begin();
            }
            if (counted)
            {
                Count(id);
            }
            Open(frames[depth], id, sum, counted);
        }

        /// <summary>Whether there is room for another frame: as many as there may be, and memory for them.</summary>
        private bool Deepen()
        {
            if (depth < frames.Length)
            {
                return true;
            }
            if (frames.Length >= (Host.IsCollectible ? DeepestDirect : Deepest))
            {
                return false;
            }
            try
            {
                var next = new Frame[Math.Max(16, 2 * frames.Length)];
                for (int i = 0; i < next.Length; i++)
                {
                    next[i] = i < depth ? frames[i] : new Frame();
                }
                frames = next;
                return true;
            }
            catch (Exception)
            {
                return false;
            }
        }

        /// <summary>A method ends that is summed up.</summary>
        internal void Stop(int id, long now, bool failed)
        {
            if (Busy)
            {
                return;
            }
            int top = depth - 1;
            if (beyond != 0 || top < 0 || frames[top].Id != id || frames[top].Sum == null)
            {
                StopSlowly(id, now, failed);
                return;
            }
            Frame frame = frames[top];
            depth = top;
            Sum sum = frame.Sum;
            long took = Close(frame, now);
            End(sum, frame, took, failed);
        }

        /// <summary>The same of a call that is told by itself, too, if it took that long or failed.</summary>
        internal void StopTold(int id, long now, bool failed, long most)
        {
            int top = depth - 1;
            bool known = !Busy && beyond == 0 && top >= 0 && frames[top].Id == id && frames[top].Sum != null;
            long start = known ? frames[top].Start : now;
            Sum sum = known ? frames[top].Sum : null;
            Stop(id, now, failed);
            if (known && (failed || now - start > most) && sum.Tells(now) && store.Counts.Aggregates.Tells(now))
            {
                long took = Math.Max(0, now - start);
                Tell(id, start, failed ? took | 1L << 63 : took, now);
            }
        }

        private void Tell(int id, long start, long took, long now)
        {
            long* word = At;
            if (word + 3 < end)
            {
                // As for a value.
                try
                {
                }
                finally
                {
                    word[2] = took;
                    word[1] = start;
                    Volatile.Write(ref word[0], Format.Escape(Format.Slow, 2, id));
                    At = word + 3;
                }
            }
            else
            {
                slow[0] = Format.Escape(Format.Slow, 2, id);
                slow[1] = start;
                slow[2] = took;
                Slow(Format.None, id, now, Plain, 0, null, slow);
            }
        }

        private void End(Sum sum, Frame frame, long took, bool failed)
        {
            bool outermost = sum.Close();
            try
            {
                sum.End(took, Math.Max(0, took - frame.Inner), failed, outermost);
            }
            catch (Exception) // no memory
            {
                Uncounted();
            }
        }

        /// <summary>The frame above the last has ended: its time is not that of who called it.</summary>
        private long Close(Frame frame, long now)
        {
            long took = Math.Max(0, now - frame.Start);
            owed += Math.Max(0, took - frame.Inner);
            if (depth > 0)
            {
                Frame around = frames[depth - 1];
                around.Inner += around.Recorded == 0 ? took : 0; // else it is that of the recorded call
            }
            return took;
        }

        /// <summary>The same where it is added to the trace at once, and where a hook in between has failed.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        private void StopSlowly(int id, long now, bool failed)
        {
            if (beyond != 0)
            {
                beyond--;
                return;
            }
            int top = depth - 1;
            while (top >= 0 && frames[top].Id != id)
            {
                top--;
            }
            if (top < 0)
            {
                return; // its begin was lost, and counted as such
            }
            while (depth > top + 1)
            {
                Sum lost = frames[--depth].Sum;
                if (lost != null)
                {
                    lost.Close();
                }
            }
            Frame frame = frames[top];
            depth = top;
            long took = Close(frame, now);
            if (frame.Sum != null)
            {
                End(frame.Sum, frame, took, failed);
                return;
            }
            if (frame.Counted)
            {
                return;
            }
            bool outermost = true;
            for (int i = top - 1; i >= 0 && outermost; i--)
            {
                outermost = frames[i].Id != id;
            }
            try
            {
            }
            finally
            {
                long error = LastError.Get();
                long* stop = end;
                Busy = true;
                end = null;
                try
                {
                    if (!Stack.HasRoom() || !store.Counts.Direct(id, frame, took, failed, outermost))
                    {
                        Uncounted();
                    }
                }
                catch (Exception)
                {
                    Uncounted();
                }
                end = stop;
                Busy = false;
                LastError.Set(error);
            }
        }

        /// <summary>A record, where calls may be summed up around it or below the one that is open.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        private void Between(int kind, int id, long now)
        {
            if (Busy || among == 0)
            {
                return;
            }
            if (depth == 0)
            {
                among = 0;
            }
            else
            {
                Frame around = frames[depth - 1];
                if (kind == Format.Enter)
                {
                    around.Since = around.Recorded++ == 0 ? now : around.Since;
                }
                else if (around.Recorded > 0 && --around.Recorded == 0)
                {
                    around.Inner += Math.Max(0, now - around.Since);
                }
            }
            if (owed == 0)
            {
                return;
            }
            long time = owed;
            owed = 0;
            if (segment == 0)
            {
                return; // no call of this thread is recorded yet
            }
            long* word = At;
            if (word + 2 < end)
            {
                // As for a value.
                try
                {
                }
                finally
                {
                    word[1] = time;
                    Volatile.Write(ref word[0], Format.Escape(Format.Aggregated, 1, 0));
                    At = word + 2;
                }
            }
            else
            {
                long[] escape = { Format.Escape(Format.Aggregated, 1, 0), time };
                Slow(Format.None, id, now, Plain, 0, null, escape);
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private void RecordBetween(int kind, int id, long now)
        {
            Between(kind, id, now);
            long gap = now - last;
            long* word = At;
            if (word < end && (ulong)gap >> Format.GapBits == 0)
            {
                *word = (long)id << 32 | gap << 2 | (long)(uint)kind;
                At = word + 1;
                last = now;
            }
            else
            {
                Slow(kind, id, now, Plain, 0, null);
            }
        }

        /// <summary>A call is missing in the counts: nothing is missing among the thread's records.</summary>
        private void Uncounted()
        {
            Interlocked.Increment(ref Failed);
            Interlocked.Increment(ref Untold);
            Tell();
        }

        /// <summary>Anything that needs more than the fast paths have: a new chunk, an escape.</summary>
        /// <param name="kind">Of the record; or BEGIN or COMPLETE, escapes that are records of their own.</param>
        /// <param name="mark">What the LOGICAL escape says; of COMPLETE, the outcome.</param>
        /// <param name="call">The logical call's number; of a SAMPLED escape, the weight.</param>
        /// <param name="news">An exception that is not known yet, or null.</param>
        /// <param name="value">The escape of a value, which comes alone.</param>
        /// <param name="weight">How many calls a logical one stands for that is sampled, else 0.</param>
        [MethodImpl(MethodImplOptions.NoInlining)]
        private void Slow(int kind, int id, long now, int mark, long call, Exception news, long[] value = null, int weight = 0)
        {
            if (Busy)
            {
                return;
            }
            // An abort of the thread, which some hosts know, waits for the end of a finally.
            try
            {
            }
            finally
            {
                long error = LastError.Get();
                long[] counted = cells;
                Busy = true;
                end = null; // so that a nested hook comes here, and no further
                cells = Runtime.Tally.Empty;
                try
                {
                    bool room = Stack.HasRoom();
                    // An exception that was recorded without its message stays so in the frames above.
                    bool told = news != null && Secrets.Tells(id) && !(silenced && !IsNew(news));
                    long[] details = value ?? (news == null ? Nothing : Format.ExceptionEscape(news, room && told));
                    if (Write(kind, id, now, mark, call, details, room, weight) && news != null)
                    {
                        thrown.SetTarget(news);
                        silenced = !told;
                    }
                }
                catch (Exception)
                {
                    if (value == null)
                    {
                        Interlocked.Increment(ref Failed);
                        Interlocked.Increment(ref Untold);
                        lost++;
                        Tell();
                    }
                }
                cells = counted;
                end = limit;
                Busy = false;
                LastError.Set(error);
            }
        }

        /// <summary>Writes a record and the escapes that it needs. Nothing fails once the first word is written.</summary>
        /// <param name="room">There is stack for anything; else only for what is at hand.</param>
        private bool Write(int kind, int id, long now, int mark, long call, long[] details, bool room, int weight = 0)
        {
            bool isCall = kind != Format.None && kind <= Format.ErrorRecord;
            long* word;
            long gap = 0;
            // The record, and at most a LOGICAL, a SAMPLED, a TIME and a LOST.
            int need = (isCall ? 1 : 4) + details.Length + 2 + 2 + 2 + (weight == 0 ? 0 : 2);
            if (owner == ThreadNumber && At + need <= limit)
            {
                word = At;
                gap = now - last;
                if (isCall && (ulong)gap >> Format.GapBits != 0)
                {
                    gap = 0;
                    word = Put(word, Format.Time, 0, now);
                }
            }
            else
            {
                long[] intro = Introduction();
                need += 3 + intro.Length;
                if (Words != null && At + need <= limit)
                {
                    word = At;
                    word[2] = now;
                    word[1] = (long)(uint)segment;
                    Volatile.Write(ref word[0], Format.Escape(Format.Segment, 2, ThreadNumber));
                    word += 3;
                    segment++;
                    owner = ThreadNumber;
                    last = now;
                }
                else
                {
                    Taken taken = store.Next(this, ThreadNumber, segment, now, room);
                    if (taken != Taken.Chunk)
                    {
                        if (kind != Format.None)
                        {
                            Lose(taken == Taken.NotTried);
                        }
                        return false;
                    }
                    segment++;
                    word = At;
                    if (room)
                    {
                        Trace.Look();
                    }
                }
                word = Put(word, intro);
            }
            if (lost != 0)
            {
                word = Put(word, Format.Lost, 0, lost);
            }
            word = Put(word, details);
            if (isCall)
            {
                if (mark == Weighed)
                {
                    word = Put(word, Format.Sampled, id, call);
                }
                else if (mark != Plain)
                {
                    word = Put(word, Format.Logical, mark, call);
                    word = weight == 0 ? word : Put(word, Format.Sampled, id, weight);
                }
                Volatile.Write(ref *word, (long)id << 32 | gap << 2 | (long)(uint)kind);
                word++;
                last = now;
            }
            else if (kind != Format.None)
            {
                int payload = kind == Format.Complete ? 3 : 2;
                word = weight == 0 ? word : Put(word, Format.Sampled, id, weight);
                word[3] = 0;
                if (kind == Format.Complete)
                {
                    word[3] = mark;
                }
                word[2] = now;
                word[1] = call;
                Volatile.Write(ref *word, Format.Escape(kind, payload, id));
                word += 1 + payload;
            }
            lost = 0;
            lostAt = null;
            At = word;
            return true;
        }

        /// <summary>Writes an escape, its first word last: until then the data ends before it. Returns the word behind it.</summary>
        private static long* Put(long* word, long[] escape)
        {
            for (int i = escape.Length - 1; i > 0; i--)
            {
                word[i] = escape[i];
            }
            if (escape.Length > 0)
            {
                Volatile.Write(ref *word, escape[0]);
            }
            return word + escape.Length;
        }

        /// <summary>The same for an escape with one word of payload.</summary>
        private static long* Put(long* word, int type, int argument, long payload)
        {
            word[1] = payload;
            Volatile.Write(ref *word, Format.Escape(type, 1, argument));
            return word + 2;
        }

        /// <summary>The THREAD escape: in each chunk, since the ring may have overwritten the one before.</summary>
        private long[] Introduction()
        {
            Thread self = System.Threading.Thread.CurrentThread;
            string now = self.Name;
            int changes = Secrets.Changes;
            if (introduction == null || !ReferenceEquals(now, name) || changes != introduced)
            {
                introduced = changes;
                introduction = Format.ThreadEscape(Host.Name(self), ThreadNumber, self.IsBackground, Own);
                name = now;
            }
            if (Within != null && Within.IsRecorded)
            {
                // As well: what was said before may be overwritten.
                long[] context = Span.Context(Within);
                var both = new long[introduction.Length + context.Length];
                for (int i = 0; i < both.Length; i++)
                {
                    both[i] = i < introduction.Length ? introduction[i] : context[i - introduction.Length];
                }
                return both;
            }
            return introduction;
        }

        /// <summary>
        /// Counts a record that could not be written. A thread that has a chunk says so in it, at its end if it is full;
        /// one that has none, before its next record.
        /// </summary>
        private void Lose(bool stackIsShort)
        {
            int untold = Interlocked.Increment(ref Untold);
            if (stackIsShort)
            {
                Interlocked.Increment(ref Short);
            }
            bool first;
            if (Words == null || owner != ThreadNumber)
            {
                first = lost++ == 0;
            }
            else
            {
                first = lostAt == null || At != lostAt + 1;
                if (first)
                {
                    Put(At, Format.Lost, 0, 1L + lost);
                    lostAt = At + 1;
                    At += 2;
                }
                else
                {
                    *lostAt += 1 + lost;
                }
                lost = 0;
            }
            if (first || untold >= Batch)
            {
                Tell();
            }
        }

        /// <summary>Brings the header's counters up to date.</summary>
        internal void Tell()
        {
            Header header = store.Header;
            header.AddLost(Interlocked.Exchange(ref Untold, 0));
            header.AddFailures(Interlocked.Exchange(ref Failed, 0));
            header.AddShort(Interlocked.Exchange(ref Short, 0));
        }
    }
}
