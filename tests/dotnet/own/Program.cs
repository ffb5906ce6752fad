using System;
using System.Collections.Generic;

namespace App
{
    public struct Point
    {
        public int X, Y;

        public Point(int x, int y)
        {
            X = x;
            Y = y;
        }

        public void Move(int by)
        {
            X += by;
            Y += by;
        }

        public override string ToString()
        {
            return "(" + X + "," + Y + ")";
        }
    }

    public enum Colour : byte { Red = 1, Green = 2 }

    public class Box<T>
    {
        private T held;
        public string Name = "box";

        public Box(T held)
        {
            this.held = held;
        }

        public T Swap<U>(T next, U other, ref T last)
        {
            last = held;
            held = next;
            next = last;
            return next;
        }

        public List<KeyValuePair<T, U>> Pairs<U>(T[] keys, U value)
        {
            var pairs = new List<KeyValuePair<T, U>>();
            foreach (T key in keys)
            {
                pairs.Add(new KeyValuePair<T, U>(key, value));
            }
            return pairs;
        }

        public class Inner
        {
            public T Echo(T value)
            {
                return value;
            }
        }
    }

    public static class Calls
    {
        private static int[] cells = { 1, 2, 3 };

        public static ref int Cell(int i)
        {
            return ref cells[i];
        }

        public static bool TryHalf(int n, out int half, in long seen)
        {
            half = n / 2;
            return n % 2 == 0;
        }

        public static Point Twice(Point p, Point? q, Colour c)
        {
            p.Move(10);
            return new Point(p.X * 2, p.Y * 2);
        }

        public static unsafe int Through(int* p, int[,] grid, decimal d)
        {
            return *p + grid[0, 0] + (int)d;
        }

        public static long Sum(uint a, ulong b, ushort c, sbyte d, IntPtr e)
        {
            return a + (long)b + c + d + (long)e;
        }

        public static string Changed(string s, int n)
        {
            Action change = () => s += "!";
            change();
            n++;
            return s + n;
        }

        public static string Params(string format, params object[] rest)
        {
            return string.Format(format, rest);
        }

        public static int Nested(int n)
        {
            try
            {
                try
                {
                    if (n == 0)
                    {
                        throw new ArgumentException("inner");
                    }
                    return n;
                }
                finally
                {
                    Console.WriteLine("finally");
                }
            }
            catch (ArgumentException e) when (e.Message == "inner")
            {
                throw new InvalidOperationException("outer");
            }
        }

        public static int Recurses(int n)
        {
            return n == 0 ? 0 : 1 + Recurses(n - 1);
        }

        public static void Platform(string what)
        {
        }

        public static int Own(int n)
        {
            return n;
        }
    }

    /// <summary>A hook of the program itself; what rules call they do not weave.</summary>
    public static class Log
    {
        public static void Seen(string method, int n)
        {
            Console.WriteLine("  own hook of " + method + ": " + n);
        }
    }

    public static class Program
    {
        public static unsafe void Main()
        {
            var box = new Box<string>("first");
            string last = null;
            Console.WriteLine(box.Swap("second", 5, ref last) + " " + last);
            Console.WriteLine(box.Pairs(new[] { "a", "b" }, 7L).Count);
            Console.WriteLine(new Box<int>.Inner().Echo(3));
            Calls.Cell(1) = 9;
            Console.WriteLine(Calls.Cell(1));
            int half;
            Console.WriteLine(Calls.TryHalf(8, out half, 3L) + " " + half);
            Console.WriteLine(Calls.Twice(new Point(1, 2), null, Colour.Green));
            var point = new Point(3, 4);
            point.Move(1);
            Console.WriteLine(point);
            int n = 4;
            Console.WriteLine(Calls.Through(&n, new int[1, 1] { { 2 } }, 1.5m));
            Console.WriteLine(Calls.Sum(4000000000, 5, 6, -7, (IntPtr)8));
            Console.WriteLine(Calls.Changed("s", 1));
            Console.WriteLine(Calls.Params("{0} {1}", 1, "x"));
            Console.WriteLine(Calls.Nested(3));
            try
            {
                Calls.Nested(0);
            }
            catch (InvalidOperationException e)
            {
                Console.WriteLine("caught " + e.Message);
            }
            Console.WriteLine(Calls.Recurses(2));
            Calls.Platform("it");
            Console.WriteLine(Calls.Own(6));
        }
    }
}
