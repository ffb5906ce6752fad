using System;
using System.Collections.Generic;
using System.IO;
using System.Threading;

namespace Weave.Runtime
{
    /// <summary>The background thread that writes down, again and again, what the process uses.</summary>
    internal sealed class Meter
    {
        private const int Cpu = 1;
        private const int Resident = 2;
        private const int HeapUsed = 3;
        private const int Collections = 5;
        private const int Pauses = 6;
        private const int Threads = 7;
        private const int PoolQueue = 8;
        private const int Exceptions = 9;
        private const int Allocated = 10;
        private const int Most = 14;
        /// <summary>So many threads' CPU times are read at once; where there are more they take turns.</summary>
        private const int MostThreads = 256;

        /// <summary>A tick is 100 ns.</summary>
        private const long Tick = 100;
        /// <summary>Values are unsigned numbers of 56 bits.</summary>
        private const long Limit = 1L << 56;

        private readonly Store store;
        private readonly int interval;
        private readonly long[] values = new long[Most];
        private int count;
        /// <summary>1 while a sample is taken.</summary>
        private int taking;
        /// <summary>Null before the first sample.</summary>
        private Lane lane;
        private int nextThread;

        /// <param name="interval">In milliseconds.</param>
        internal Meter(Store store, int interval)
        {
            this.store = store;
            this.interval = interval;
        }

        internal void Start()
        {
            Host.Start(new Thread(Run) { Name = "weave-process", IsBackground = true });
        }

        private void Run()
        {
            Recorder.Mute();
            long next = Clock.Now();
            while (true)
            {
                try
                {
                    next = Math.Max(next + interval * 1000000L, Clock.Now());
                    Thread.Sleep((int)Math.Min((next - Clock.Now()) / 1000000 + 1, interval));
                    Take(true);
                }
                catch (Exception)
                {
                    // then the next time
                }
            }
        }

        /// <summary>
        /// The process ends: takes one more sample, unless one is being taken. A process that ended before its first sample has none.
        /// </summary>
        internal void Last()
        {
            Take(false);
        }

        private void Take(bool first)
        {
            if (Interlocked.CompareExchange(ref taking, 1, 0) != 0)
            {
                return;
            }
            try
            {
                if (lane == null && first)
                {
                    lane = store.Lane(Thread.CurrentThread);
                }
                if (lane != null)
                {
                    long[] sample = Sample();
                    lane.Sample(sample);
                    ThreadTimes(sample[1]);
                }
            }
            finally
            {
                Volatile.Write(ref taking, 0);
            }
        }

        /// <summary>Writes the CPU time of recorded threads where it has grown.</summary>
        private void ThreadTimes(long time)
        {
            var recorded = new List<Lane>();
            store.Lanes(recorded);
            for (int left = Math.Min(recorded.Count, MostThreads); left > 0; left--)
            {
                nextThread = nextThread < recorded.Count ? nextThread : 0;
                Lane of = recorded[nextThread++];
                Thread thread;
                // Another thread may have the number of one that is gone.
                if (of.Own || of.CpuClock == 0 || !of.Thread.TryGetTarget(out thread) || !thread.IsAlive)
                {
                    continue;
                }
                long used = Posix.ThreadTime(of.CpuClock);
                if (used > of.CpuTime)
                {
                    of.CpuTime = used;
                    lane.Sample(new[] { Format.Escape(Format.Cpu, 2, of.ThreadNumber), time, used });
                }
            }
        }

        /// <summary>What a SAMPLE escape is made of.</summary>
        private long[] Sample()
        {
            count = 0;
            long now = Clock.Now();
            PutTicks(Cpu, Host.CpuTime());
            Memory();
            Put(HeapUsed, GC.GetTotalMemory(false));
            // CoreCLR counts each of a higher generation as one of the lowest, too; Mono does not.
            Put(Collections, Math.Max(GC.CollectionCount(0), GC.CollectionCount(1)));
            PutTicks(Pauses, Host.Pauses());
            Put(PoolQueue, Host.PoolQueue());
            Put(Exceptions, Host.Exceptions());
            Put(Allocated, Host.Allocated());
            var escape = new long[2 + count];
            escape[0] = Format.Escape(Format.Sample, 1 + count, 0);
            escape[1] = now;
            for (int i = 0; i < count; i++)
            {
                escape[2 + i] = values[i];
            }
            return escape;
        }

        private void PutTicks(int metric, long ticks)
        {
            Put(metric, ticks < 0 ? ticks : ticks * Tick);
        }

        /// <summary>What is negative is not known.</summary>
        private void Put(int metric, long value)
        {
            if (value >= 0 && value < Limit)
            {
                values[count++] = value << 8 | (long)(uint)metric;
            }
        }

        /// <summary>Linux tells how much memory is resident, and how many threads there are.</summary>
        private void Memory()
        {
            if (!File.Exists("/proc/self/status"))
            {
                Put(Resident, Host.Resident());
                return;
            }
            foreach (string line in SystemFile.Lines("/proc/self/status"))
            {
                if (line.StartsWith("VmRSS:", StringComparison.Ordinal))
                {
                    Put(Resident, Number(line) << 10);
                }
                else if (line.StartsWith("Threads:", StringComparison.Ordinal))
                {
                    Put(Threads, Number(line));
                }
            }
        }

        private static long Number(string line)
        {
            long number = 0;
            for (int i = 0; i < line.Length; i++)
            {
                char c = line[i];
                number = c >= '0' && c <= '9' ? number * 10 + (c - '0') : number;
            }
            return number;
        }
    }
}
