using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

namespace app
{
    /// <summary>Calls of all kinds, each as often in every run.</summary>
    public class Counts
    {
        private static readonly int[] Seeds = Seed();
        private readonly int n;
        private long wide;

        private struct Pair<T>
        {
            private readonly T one;

            internal Pair(T one)
            {
                this.one = one;
                Tiny(1);
            }

            internal T One<U>(U other)
            {
                return other == null ? default(T) : one;
            }
        }

        internal Counts()
            : this(7)
        {
        }

        internal Counts(int n)
        {
            this.n = n < 0 ? Tiny(-n) : n;
        }

        private static int[] Seed()
        {
            return new[] { 3, 1, 4, 1, 5 };
        }

        private static int Tiny(int x)
        {
            return x + 1;
        }

        private int Get()
        {
            return n;
        }

        private void Set(long wide)
        {
            this.wide = wide;
        }

        private static long Fact(int n)
        {
            return n < 2 ? 1 : n * Fact(n - 1);
        }

        private static int Spin(int n)
        {
            while (n-- > 0)
            {
                if (n % 5 != 4)
                {
                    Tiny(n);
                }
            }
            return n;
        }

        private int Held(int n, ref int last, out int next)
        {
            lock (Seeds)
            {
                last = next = n;
                return Tiny(n) + Seeds[n % Seeds.Length];
            }
        }

        private static void Fails(int i)
        {
            if (i % 3 == 0)
            {
                throw new InvalidOperationException("no " + i);
            }
        }

        private static int Caught(int i)
        {
            try
            {
                Fails(i);
                return i;
            }
            catch (InvalidOperationException)
            {
                return -1;
            }
            finally
            {
                Tiny(i);
            }
        }

        private IEnumerable<int> Several(int n)
        {
            for (int i = 0; i < n; i++)
            {
                yield return Tiny(i);
            }
        }

        private static async Task<int> Later(int n)
        {
            if (n % 2 == 0)
            {
                await Task.Yield();
            }
            int sum = Tiny(n);
            if (n > 0)
            {
                sum += await Later(n - 1);
            }
            return sum;
        }

        private static async Task FailsLater(int n)
        {
            await Task.Yield();
            Fails(n);
        }

        private static long Work(int rounds)
        {
            long sum = 0;
            int last = 0;
            Func<int, int> twice = x => Tiny(x) * 2;
            for (int i = 0; i < rounds; i++)
            {
                var c = i % 2 == 0 ? new Counts(-i) : new Counts();
                c.Set(i);
                int next;
                sum += c.wide + c.Get() + Fact(i % 9) + Spin(i % 11) + c.Held(i, ref last, out next) + Caught(i) + twice(i) + next;
                sum += new Pair<int>(i).One("x") + new Pair<string>("ab").One(i).Length;
                foreach (int one in c.Several(i % 4))
                {
                    sum += one;
                }
            }
            return sum;
        }

        public static int Main()
        {
            var sums = new long[20];
            var all = new List<Thread>();
            for (int t = 0; t < sums.Length; t++)
            {
                int at = t;
                var thread = new Thread(() => sums[at] = Work(5 * at));
                thread.Start();
                all.Add(thread);
                if (t % 7 == 0)
                {
                    thread.Join();
                }
            }
            foreach (Thread thread in all)
            {
                thread.Join();
            }
            long sum = Work(500);
            foreach (long one in sums)
            {
                sum += one;
            }
            for (int i = 0; i < 60; i++)
            {
                sum += Later(i % 6).Result;
                try
                {
                    FailsLater(i).Wait();
                }
                catch (AggregateException)
                {
                    sum++;
                }
            }
            Console.WriteLine(sum);
            return 0;
        }
    }
}
