using System;
using System.Collections;
using System.Collections.Generic;
using System.Globalization;

namespace Acme
{
    public static class Hooks
    {
        private static void Line(string text)
        {
            Console.WriteLine("  " + text);
        }

        private static string Show(object o)
        {
            var all = o as IEnumerable;
            if (o is string || all == null)
            {
                return o == null ? "null" : Convert.ToString(o, CultureInfo.InvariantCulture);
            }
            string text = "[";
            foreach (object one in all)
            {
                text += (text == "[" ? "" : " ") + Show(one);
            }
            return text + "]";
        }

        public static object Begin(string method, object self, object[] arguments)
        {
            Line("> " + method + " " + (self == null ? "static" : self.GetType().Name) + " " + Show(arguments));
            return method;
        }

        public static void End(object state, object[] arguments, object result)
        {
            Line("< " + state + " " + Show(arguments) + " = " + Show(result));
        }

        public static void Failed(object state, Exception e)
        {
            Line("! " + state + " " + e.GetType().Name + " " + e.Message);
        }

        /// <summary>Bound to any type, which it names.</summary>
        public static T Any<T>(T value)
        {
            Line("any " + typeof(T).Name + " " + Show(value));
            return value;
        }

        public static void Kept<T>(T state, T value)
        {
            Line("kept " + typeof(T).Name + " " + Show(state) + " then " + Show(value));
        }

        /// <summary>None of these fits all: a constraint is not in a signature.</summary>
        public static void Only<T>(T value) where T : IDisposable
        {
            Line("never");
        }

        public static void Only(object value)
        {
            Line("only " + Show(value));
        }

        public static void Add(ref int to)
        {
            to += 100;
        }

        public static void Wide(long a, double b, float c, int d, long e)
        {
            Line("wide " + Show(a) + " " + Show(b) + " " + Show(c) + " " + Show(d) + " " + Show(e));
        }

        public static void Grid(int[,] grid, decimal d)
        {
            Line("grid " + grid.Length + " " + Show(d));
        }

        public static void Pairs<P>(List<P> pairs)
        {
            Line("pairs of " + typeof(P) + ": " + pairs.Count);
        }

        public static long Start()
        {
            return 1;
        }

        public static void Took(long state, long duration, string method)
        {
            Line("took " + (duration >= 0 ? "time" : "none") + " " + state + " " + method);
        }
    }
}
