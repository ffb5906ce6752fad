// What a woven program does on Windows: values, async methods, exceptions, threads, hooks of one's own. It prints what it would unwoven.
using System;
using System.Collections.Generic;
using System.IO;
using System.Threading;
using System.Threading.Tasks;

namespace Shop
{
    public static class Program
    {
        /// <summary>What was thrown, caught or not: a debugger that stops there stops in a woven program as often.</summary>
        static int thrown;

        public static int Main(string[] args)
        {
            AppDomain.CurrentDomain.FirstChanceException += (_, _) => Interlocked.Increment(ref thrown);
            string what = args.Length > 0 ? args[0] : "all";
            if (what == "rounds")
            {
                return Rounds();
            }
            if (what == "grow")
            {
                return Grow(int.Parse(args[1]));
            }
            if (what == "busy")
            {
                return Busy();
            }
            Console.WriteLine("greeting " + Greet("Grüße"));
            Console.WriteLine("sum " + Sums().GetAwaiter().GetResult());
            Console.WriteLine("caught " + Caught(0) + " " + Caught(4));
            Console.WriteLine("threads " + Threads(4, 200));
            Console.WriteLine("thrown " + thrown);
            Console.WriteLine("folder " + Path.GetFileName(Directory.GetCurrentDirectory()));
            return 3;
        }

        public static string Greet(string name)
        {
            string made = name.ToUpperInvariant();
            return made + "!";
        }

        public static async Task<int> Sums()
        {
            int sum = 0;
            for (int i = 0; i < 20; i++)
            {
                sum += await Later(i);
            }
            await foreach (int i in Slowly(5))
            {
                sum += i;
            }
            return sum;
        }

        public static async Task<int> Later(int i)
        {
            await Task.Delay(i % 3);
            return i + 1;
        }

        public static async IAsyncEnumerable<int> Slowly(int n)
        {
            for (int i = 0; i < n; i++)
            {
                await Task.Yield();
                yield return i;
            }
        }

        public static int Caught(int by)
        {
            try
            {
                return Divided(100, by);
            }
            catch (DivideByZeroException) when (by == 0)
            {
                return -1;
            }
        }

        public static int Divided(int a, int by)
        {
            int result = a / by;
            return result + 1;
        }

        public static long Threads(int count, int calls)
        {
            long[] sums = new long[count];
            var all = new List<Thread>();
            for (int i = 0; i < count; i++)
            {
                int number = i;
                all.Add(new Thread(() => { for (int k = 0; k < calls; k++) sums[number] += Work(number + k); }) { Name = "worker " + i });
            }
            all.ForEach(t => t.Start());
            all.ForEach(t => t.Join());
            long sum = 0;
            foreach (long each in sums)
            {
                sum += each;
            }
            return sum;
        }

        public static int Work(int n)
        {
            int made = n * 7;
            return made % 5 + Noise(n);
        }

        public static int Noise(int n)
        {
            int low = n & 3;
            return low > 1 ? low : 1;
        }

        /// <summary>So many calls as a line of the input asks for, and a line of output for each.</summary>
        static int Rounds()
        {
            for (string line = Console.ReadLine(); line != null; line = Console.ReadLine())
            {
                int sum = 0;
                for (int i = 0; i < int.Parse(line); i++)
                {
                    sum += Work(i);
                }
                Console.WriteLine("round " + sum);
                Console.Out.Flush();
            }
            return 0;
        }

        /// <summary>So many calls: their trace grows several times.</summary>
        static int Grow(int calls)
        {
            long sum = 0;
            for (int i = 0; i < calls; i++)
            {
                sum += Work(i);
            }
            Console.WriteLine("grown " + sum + ", thrown " + thrown);
            return 0;
        }

        /// <summary>Calls until somebody ends the process.</summary>
        static int Busy()
        {
            long sum = 0;
            for (int i = 0; ; i++)
            {
                sum += Work(i);
                if (i == 50000)
                {
                    Console.WriteLine("ready");
                    Console.Out.Flush();
                }
            }
        }
    }
}
