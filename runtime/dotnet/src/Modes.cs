using System;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

namespace Weave.Runtime
{
    /// <summary>
    /// What becomes of the calls of methods that can be switched: a table that hooks look at, and <see cref="Control"/> writes. Only
    /// programs that have such methods have any of this.
    /// </summary>
    /// <remarks>
    /// What the rules say of a method is an int. Bits 0 and 1: the mode (0 record, 1 aggregate, 2 count). Bit 2: auto. Bit 3: sampled. Bits 4
    /// and 5: the level. Bit 6: <see cref="Decided"/>. Bit 7: the number is one of calls a second. Bits 8 to 31: a number. For auto it is in
    /// microseconds: where the library sums the method up, it also writes each longer call into the trace. For sampled it is N of 1/N, or the
    /// calls a second of the process.
    /// </remarks>
    [DebuggerStepThrough]
    internal static unsafe class Modes
    {
        /// <summary>
        /// States of a call: the lower two bits. One that is summed up has above them the microseconds of what is told one by one; an
        /// outermost call that was taken is recorded, and has bit 2, and above it how many calls it stands for.
        /// </summary>
        internal const int Nothing = 0;
        internal const int Recorded = 1;
        internal const int SummedUp = 2;
        /// <summary>An outermost call that was not taken.</summary>
        internal const int Passed = 3;
        private const int Outermost = 4;
        private const int WeightShift = 3;
        internal const int MostWeight = (1 << 24) - 1;

        /// <summary>Bits of what the rules say.</summary>
        private const int LeftToTheLibrary = 4;
        private const int Sampled = 8;
        private const int OfASecond = 128;

        /// <summary>Modes of a method. Not known, as it is until its map was read.</summary>
        internal const int Unknown = 0;
        internal const int Off = 1;
        /// <summary>As the rules say.</summary>
        internal const int Rules = 2;
        internal const int Record = 3;
        internal const int Aggregate = 4;
        internal const int Count = 5;
        /// <summary>Methods of several modes have this place.</summary>
        internal const int Shared = 6;
        /// <summary>Recorded whatever their mode, and sampled as the rules say.</summary>
        internal const int Auto = 7;

        /// <summary>What rules say of a logical call about which <see cref="Pass"/> tells what was decided; of one, where that is decided.</summary>
        internal const int Decided = 1 << 6;

        internal const int Size = 1 << 20;

        /// <summary>Modes by the low bits of ids: those of a type are neighbours. What may go before the process has no control of it.</summary>
        internal static readonly byte* Table = Switch.On ? Room(Host.IsCollectible ? 1 : Size) : null;
        private static readonly int Last = Host.IsCollectible ? 0 : Size - 1;

        /// <summary>Ids in shared places, from <see cref="Exactly"/>. Replaced, never changed.</summary>
        private static long[] exact = new long[2];
        /// <summary>What <see cref="Table"/> is made in.</summary>
        private static byte[] places;
        private static int attached;

        /// <summary>Of methods that are not known: up to this level they are on, and this is their mode.</summary>
        internal static volatile int Level = Settings.StartingLevel();
        internal static volatile int Usual = Rules;

        /// <summary>The last to be set: code of the class library, which may be woven, has run before.</summary>
        internal static readonly bool On = Switch.On;

        /// <summary>Memory that stays where it is, all zero.</summary>
        private static byte* Room(int bytes)
        {
            return (byte*)(void*)GCHandle.Alloc(new byte[bytes], GCHandleType.Pinned).AddrOfPinnedObject();
        }

        /// <summary>The whole way of a method that is off.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        internal static bool IsOff(int id)
        {
            return !On || Table[id & Last] == Off;
        }

        // Not inlined, as those that follow: in a large program the code of each woven method would not fit the caches.
        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static int Enter(int rules, int id)
        {
            int mode = Table[id & Last];
            if (mode == Count)
            {
                Recorder.Lane().Count(id); // what there is most of
                return Nothing;
            }
            if (mode == Record || (rules & Sampled) == 0 && (mode == Auto || mode == Rules && (rules & 3) == 0))
            {
                Recorder.Enter(id);
                return Recorded;
            }
            int state = Decide(rules, id);
            Begin(state, id);
            return state;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static int Decide(int rules, int id)
        {
            int mode = Table[id & Last];
            if (mode == Shared)
            {
                mode = Exactly(id);
            }
            if (mode == Unknown)
            {
                mode = Guess(rules);
            }
            if (mode == Rules)
            {
                mode = (rules & 3) == 0 ? Auto : Record + (rules & 3);
            }
            switch (mode)
            {
                case Auto:
                    return (rules & Sampled) == 0
                        ? Recorded
                        : Recorder.Lane().Sampled((int)((uint)rules >> 8), (rules & OfASecond) != 0, (rules & Decided) != 0);
                case Record:
                    return Recorded;
                case Aggregate:
                    if ((rules & Decided) != 0)
                    {
                        return Recorded;
                    }
                    return (rules & LeftToTheLibrary) == 0 ? SummedUp : SummedUp | (int)((uint)rules >> 6) & ~3;
                case Count:
                    Recorder.Count(id);
                    return Nothing;
                default:
                    return Nothing;
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static void Begin(int state, int id)
        {
            if (state == Recorded)
            {
                Recorder.Enter(id);
            }
            else if (IsRecorded(state))
            {
                Recorder.Outermost(id, state >> WeightShift);
            }
            else if ((state & 3) == SummedUp)
            {
                Recorder.Start(id);
            }
        }

        /// <summary>The state of an outermost call that was taken and stands for so many.</summary>
        internal static int Taken(int weight)
        {
            return Recorded | Outermost | weight << WeightShift;
        }

        /// <summary>How many calls one stands for that was taken; of the state of another call 0.</summary>
        internal static int Weight(int state)
        {
            return IsRecorded(state) ? state >> WeightShift : 0;
        }

        /// <summary>Whether a call's values go into the trace.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        internal static bool IsRecorded(int state)
        {
            return (state & 3) == Recorded;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static void Exit(int state, int id)
        {
            if (state != Recorded)
            {
                End(state);
            }
            if (IsRecorded(state))
            {
                Recorder.Exit(id);
            }
            else
            {
                Stop(state, id, false);
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static void Error(Exception e, int state, int id)
        {
            if (state != Recorded)
            {
                End(state);
            }
            if (IsRecorded(state))
            {
                Recorder.Error(e, id);
            }
            else
            {
                Stop(state, id, true);
            }
        }

        /// <summary>Once an outermost call has ended, the thread's next one decides again: whatever becomes of its record.</summary>
        private static void End(int state)
        {
            if ((state & 1) != 0)
            {
                Recorder.Lane().Tree = Lane.NoTree;
            }
        }

        // Logical calls are not summed up, since they go from thread to thread: what would be is recorded.
        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static void Begin(ref long call, int rules, int id)
        {
            call = LogicalCalls.New(Decide(rules | Decided, id));
            if (Contexts.Used != null)
            {
                Recorder.Lane().TakeNext(id); // who enumerates runs in its own context between the pieces
            }
            if (call != LogicalCalls.Ended)
            {
                LogicalCalls.BeginNew(ref call, id);
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static void Resume(ref long call, int rules, int id)
        {
            if (call == 0)
            {
                call = LogicalCalls.New((rules & Decided) == 0 ? Decide(rules | Decided, id) : Recorder.Lane().TakePassed(id));
                Contexts used = Contexts.Used;
                Span span = used != null && (rules & Decided) != 0 ? Recorder.Lane().TakeNext(id) : null;
                if (span != null)
                {
                    used.Resume(Recorder.Lane(), span, ref call, id);
                    return;
                }
            }
            LogicalCalls.Resume(ref call, id);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static void Pass(int state, int id)
        {
            Recorder.Lane().Pass(state, id);
        }

        private static void Stop(int state, int id, bool failed)
        {
            if (state == SummedUp)
            {
                Recorder.Stop(id, failed);
            }
            else if (state != Passed)
            {
                Recorder.StopTold(id, failed, (state >> 2) * 1000L);
            }
        }

        /// <summary>The mode of a method whose map nobody has read yet. The first such call opens the trace: without one nobody could switch.</summary>
        private static int Guess(int rules)
        {
            Recorder.Lane();
            if (Volatile.Read(ref attached) == 0)
            {
                Attach();
            }
            return (rules >> 4 & 3) <= Level ? Usual : Off;
        }

        private static void Attach()
        {
            Store store = Trace.Store;
            if (store == null || Interlocked.Exchange(ref attached, 1) != 0)
            {
                return;
            }
            // An abort of the thread, which some hosts know, waits for the end of a finally.
            try
            {
            }
            finally
            {
                Lane lane = Recorder.Mute();
                try
                {
                    Trace.Accompany(store, new Control(store));
                }
                catch (Exception)
                {
                    // Then nothing is switched.
                }
                Recorder.Restore(lane);
            }
        }

        /// <summary>The mode of a method in a shared place.</summary>
        private static int Exactly(int id)
        {
            Volatile.Read(ref Table[id & Last]); // who sees that it is shared sees what is exact
            long[] all = Volatile.Read(ref exact);
            for (int at = Place(all, id); all[at] != 0; at = (at + 1) & (all.Length - 1))
            {
                if ((int)all[at] == id)
                {
                    return (int)(all[at] >> 32);
                }
            }
            return Unknown;
        }

        /// <summary>Where an id is looked for first.</summary>
        private static int Place(long[] all, int id)
        {
            uint mixed = unchecked((uint)id * 0x9E3779B9);
            return (int)(mixed ^ mixed >> 15) & (all.Length - 1);
        }

        /// <summary>
        /// From now on these are the methods' modes, which are not 0; each pair has a method's id in its low half and its mode in the high one. For
        /// one thread at a time.
        /// </summary>
        internal static void Use(long[] methods, int count)
        {
            places = places ?? new byte[Size];
            for (int i = 0; i < Size; i++)
            {
                places[i] = Unknown;
            }
            int crowd = 0;
            for (int i = 0; i < count; i++)
            {
                ref byte place = ref places[(int)methods[i] & Last];
                var mode = (byte)(methods[i] >> 32);
                place = place == Unknown || place == mode ? mode : (byte)Shared;
            }
            for (int i = 0; i < count; i++)
            {
                crowd += IsShared((int)methods[i]) ? 1 : 0;
            }
            int length = 2;
            while (length < 2 * crowd)
            {
                length *= 2;
            }
            var next = new long[length];
            for (int i = 0; i < count; i++)
            {
                if (IsShared((int)methods[i]))
                {
                    int at = Place(next, (int)methods[i]);
                    while (next[at] != 0 && (int)next[at] != (int)methods[i])
                    {
                        at = (at + 1) & (length - 1);
                    }
                    next[at] = methods[i];
                }
            }
            Volatile.Write(ref exact, next);
            for (int i = 0; i < Size; i++)
            {
                if (Table[i] != places[i])
                {
                    Volatile.Write(ref Table[i], places[i]);
                }
            }
        }

        /// <summary>Also where it was until now: a hook may be on its way.</summary>
        private static bool IsShared(int id)
        {
            return places[id & Last] == Shared || Table[id & Last] == Shared;
        }
    }
}
