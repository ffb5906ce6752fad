using System;
using System.Globalization;
using System.Text;

namespace acme
{
    /// <summary>A library of hooks: each prints a line. The Java one beside it prints the same.</summary>
    public static class Log
    {
        private static int depth;

        public static object begin(string method, object self, object[] args)
        {
            line("> " + method + " " + name(self) + " " + list(args));
            return method;
        }

        public static void end(object state, object result)
        {
            line("< " + state + " = " + show(result));
        }

        public static void failed(object state, Exception e)
        {
            line("! " + state + " " + name(e) + ": " + e.Message);
        }

        public static void typed(bool a, sbyte b, short c, char d, int e, long f, float g, double h, string i, int[] j)
        {
            line("  typed " + show(a) + " " + b + " " + c + " " + d + " " + e + " " + f + " " + show(g) + " " + show(h) + " " + i + " " + show(j));
        }

        public static void widened(long fromInt, double fromFloat, object fromBool, object fromText, int fromChar)
        {
            line("  widened " + fromInt + " " + show(fromFloat) + " " + show(fromBool) + " " + show(fromText) + " " + fromChar);
        }

        public static void constants(sbyte a, long b, double c, float d, bool e, string f, object g, string h, int i)
        {
            line("  constants " + a + " " + b + " " + show(c) + " " + show(d) + " " + show(e) + " " + f + " " + show(g) + " " + show(h) + " " + i);
        }

        public static void was(int n, string s, string result)
        {
            line("  was " + n + " " + s + " became " + result);
        }

        public static long start(string type, string signature)
        {
            line("  start " + type + " " + signature);
            return 7;
        }

        public static void took(long state, long duration)
        {
            line("  took " + state + (duration >= 0 ? " some" : " negative") + " time");
        }

        public static void words(int first, int last, int count)
        {
            line("  words " + first + ".." + last + " of " + count);
        }

        public static int outer()
        {
            line("  outer begins");
            return 1;
        }

        public static void outerEnd(int state)
        {
            line("  outer ends " + state);
        }

        public static string bad(string method)
        {
            throw new InvalidOperationException("hook of " + method);
        }

        public static void after(string state, int result)
        {
            line("  after bad: " + show(state) + " " + result);
        }

        /// <summary>Calls woven code, which has this very hook.</summary>
        public static void again(object self)
        {
            depth++;
            line("  again " + depth + " " + self);
            depth--;
        }

        internal static void line(string text)
        {
            Console.WriteLine(text);
        }

        static string name(object o)
        {
            return o == null ? "null" : o.GetType().Name;
        }

        internal static string show(object o)
        {
            if (o == null)
            {
                return "null";
            }
            if (o is Array)
            {
                return list((Array)o);
            }
            if (o is bool)
            {
                return (bool)o ? "true" : "false";
            }
            return Convert.ToString(o, CultureInfo.InvariantCulture);
        }

        internal static string list(Array all)
        {
            StringBuilder text = new StringBuilder("[");
            for (int i = 0; i < all.Length; i++)
            {
                text.Append(i == 0 ? "" : ", ").Append(show(all.GetValue(i)));
            }
            return text.Append("]").ToString();
        }
    }
}
