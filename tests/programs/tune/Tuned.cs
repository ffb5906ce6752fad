using System;
using System.Collections.Generic;

namespace Shop
{
    class Pair<T>
    {
        readonly T first;

        public Pair(T first)
        {
            this.first = first;
            Made++;
        }

        public static int Made;

        public int Sum(Dictionary<T, List<int>> all, int[,] grid)
        {
            return all.Count * 3 + grid.Length + (first.Equals(default(T)) ? 1 : 0);
        }

        public class Inner
        {
            public int Twice(ref int x)
            {
                x += 3;
                return x * 2 + (x >> 1);
            }
        }
    }

    static class Program
    {
        static int Mix(int x)
        {
            return (x ^ x >> 3) * 31;
        }

        static int Mix(long x)
        {
            return Work((int)x);
        }

        static int Work(int x)
        {
            int y = x;
            for (int i = 0; i < 20000; i++)
                y = y * 31 + i ^ y >> 7;
            return y;
        }

        static int Risky(int x)
        {
            if (x % 1000 == 7)
                throw new InvalidOperationException("no");
            return x + 1;
        }

        // A method and a local function of one name and the same parameters.
        static int Add(int x)
        {
            return x * 7 + (x >> 2);
        }

        static int Place(int n)
        {
            int Add(int x)
            {
                return Work(x) + 1;
            }
            return Add(n) + Add(n + 1);
        }

        static int Fold(int n, Func<int, int> each)
        {
            int sum = 0;
            for (int i = 0; i < n; i++)
                sum = each(sum + i);
            return sum;
        }

        static void Main()
        {
            int sum = 0;
            var all = new Dictionary<int, List<int>>();
            var grid = new int[2, 3];
            var inner = new Pair<string>.Inner();
            for (int i = 0; i < 30000; i++)
            {
                sum += Mix(i) + Add(i) + new Pair<int>(i).Sum(all, grid) + inner.Twice(ref sum);
                if (i % 100 == 0)
                    try
                    {
                        sum += Risky(i + 7);
                    }
                    catch (InvalidOperationException)
                    {
                        sum--;
                    }
            }
            for (long i = 0; i < 5; i++)
                sum += Mix(i) + Place((int)i);
            sum += Fold(30000, x => (x + 1) * 3);
            Console.WriteLine(sum);
        }
    }
}
