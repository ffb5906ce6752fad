using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

namespace app
{
    /// <summary>Makes as many rounds of calls in each of a few threads as a line of the input says, and tells what they came to.</summary>
    public static class Rounds
    {
        private const int Threads = 3;
        private static long sum;

        public static void Main()
        {
            Console.WriteLine(Threads);
            for (string line; (line = Console.In.ReadLine()) != null;)
            {
                int n = int.Parse(line);
                var all = new Thread[Threads];
                for (int i = 0; i < Threads; i++)
                {
                    all[i] = new Thread(() =>
                    {
                        for (int k = 0; k < n; k++)
                        {
                            Round(k);
                        }
                    });
                    all[i].Start();
                }
                foreach (Thread t in all)
                {
                    t.Join();
                }
                Console.WriteLine(sum);
            }
        }

        internal static void Round(int k)
        {
            Interlocked.Add(ref sum, Query(k));
            Interlocked.Add(ref sum, Later(k).Result + Soon(k).Result + Tally(k).Result);
            foreach (int item in Items(k))
            {
                Interlocked.Add(ref sum, item);
                if (item == 1)
                {
                    break;
                }
            }
            try
            {
                Fails(k);
            }
            catch (InvalidOperationException)
            {
                Interlocked.Add(ref sum, Noise(k));
            }
        }

        internal static long Query(int k)
        {
            long result = 0;
            for (int i = 0; i < k % 7; i++)
            {
                result += i;
            }
            return result + Summed(k);
        }

        internal static async Task<int> Later(int k)
        {
            await Task.Yield();
            return k & 0x3F;
        }

        /// <summary>Where it waits and where not is not the same in each call.</summary>
        internal static async Task<int> Soon(int k)
        {
            int result = k & 7;
            for (int i = 0; i < k % 3; i++)
            {
                await Task.Yield();
                result += await Nested(i);
            }
            return result;
        }

        internal static async Task<int> Nested(int k)
        {
            await Task.CompletedTask;
            return k + 1;
        }

        internal static async Task<int> Tally(int k)
        {
            try
            {
                if (k % 2 == 0)
                {
                    await Task.Yield();
                }
                throw new InvalidOperationException("as always");
            }
            catch (InvalidOperationException)
            {
                return k & 1;
            }
        }

        /// <summary>Of some only a part is asked for.</summary>
        internal static IEnumerable<int> Items(int k)
        {
            for (int i = 0; i < k % 4; i++)
            {
                yield return i;
            }
        }

        internal static void Fails(int k)
        {
            if (Counted(k) >= 0)
            {
                throw new InvalidOperationException("always");
            }
            Interlocked.Increment(ref sum);
        }

        internal static long Noise(int k)
        {
            long result = k;
            for (int i = 0; i < 3; i++)
            {
                result = result * 31 + i & 0xFFFF;
            }
            return result;
        }

        internal static long Summed(int k)
        {
            return k * 31L + 7 & 0xFF;
        }

        internal static int Counted(int k)
        {
            return k & 0x7FFF | 1;
        }
    }
}
