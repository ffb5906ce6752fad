using System;
using System.Threading;

namespace app
{
    /// <summary>Makes as many requests in each of a few threads as a line of the input says, and tells what they came to.</summary>
    public static class Requests
    {
        private const int Threads = 3;
        private static long sum;

        public static void Main()
        {
            Console.WriteLine(Threads);
            int step = 0;
            for (string line; (line = Console.In.ReadLine()) != null; step++)
            {
                int n = int.Parse(line);
                var all = new Thread[Threads];
                for (int i = 0; i < Threads; i++)
                {
                    all[i] = new Thread(() =>
                    {
                        for (int k = 0; k < n; k++)
                        {
                            Serve(k);
                        }
                    });
                    all[i].Name = "step " + step + "." + i;
                    all[i].Start();
                }
                foreach (Thread t in all)
                {
                    t.Join();
                }
                Console.WriteLine(sum);
            }
        }

        /// <summary>One request: they take turns.</summary>
        internal static void Serve(int k)
        {
            Audit(k);
            if (k % 2 == 0)
            {
                Interlocked.Add(ref sum, Order(k, 2));
                return;
            }
            try
            {
                Report(k);
            }
            catch (InvalidOperationException)
            {
                Interlocked.Increment(ref sum);
            }
        }

        /// <summary>Calls itself, and what fails.</summary>
        internal static long Order(int k, int deep)
        {
            long result = deep == 0 ? Load(k) : Order(k, deep - 1);
            try
            {
                Fails(k);
            }
            catch (InvalidOperationException)
            {
                result += Load(k + deep);
            }
            return result;
        }

        /// <summary>Fails itself.</summary>
        internal static long Report(int k)
        {
            long result = Load(k) + Rare(k) + Shared(k);
            if (result >= 0)
            {
                throw new InvalidOperationException("always");
            }
            return result;
        }

        internal static long Load(int k)
        {
            long result = 0;
            for (int i = 0; i < k % 5; i++)
            {
                result += i;
            }
            Audit(k);
            return result;
        }

        internal static void Fails(int k)
        {
            if (k >= 0)
            {
                throw new InvalidOperationException("always");
            }
            Interlocked.Increment(ref sum);
        }

        /// <summary>Of another rate.</summary>
        internal static long Rare(int k)
        {
            return Load(k) & 0xFFFF;
        }

        /// <summary>Of two aspects, one of which records all calls.</summary>
        internal static long Shared(int k)
        {
            long result = k;
            for (int i = 0; i < 3; i++)
            {
                result = result * 31 + i & 0xFFFF;
            }
            return result;
        }

        /// <summary>Always recorded.</summary>
        internal static void Audit(int k)
        {
            if (k < 0)
            {
                Interlocked.Decrement(ref sum);
            }
        }
    }
}
