using System;
using System.Collections;
using System.Threading.Tasks;

namespace Acme {
    /// <summary>Hooks at calls.</summary>
    public static class Audit {
        static void Say(string text) {
            Console.WriteLine("  " + text);
        }

        // In place of calls: directly, and by way of a method that converts.

        public static bool Exists(string path) {
            Say("exists " + path);
            return true;
        }

        public static int Max(int a, int b) {
            Say("max");
            return Math.Max(a, b) + 1000;
        }

        public static object Get(object map, object key) {
            Say("get " + key);
            return ((IDictionary)map)[key];
        }

        public static int Pow(double a, double b, string text, long number, bool flag) {
            Say("pow " + a + " " + b + " " + text + " " + number + " " + flag);
            return 8;
        }

        public static string Sub(string text, int from, int count) {
            return "<" + text.Substring(from, count) + ">";
        }

        public static bool Parse(string text, ref int number) {
            Say("parse " + text);
            number = 77;
            return true;
        }

        public static int Compare(object[] arguments, string method, string type, string signature) {
            Say(type + "." + method + signature + " " + arguments.Length);
            return -1;
        }

        public static long Parsed(string text) {
            return long.Parse(text) + 100;
        }

        public static string Trimmed(string text) {
            return "<" + text.Trim() + ">";
        }

        public static Task<int> Other(object target, Task<int> task) {
            return Task.FromResult(task.Result + 100);
        }

        // Around calls.

        public static long Before(object target, object first) {
            Say("before " + (target == null ? "none" : target.GetType().Name) + " " + first);
            return 42;
        }

        public static void After(object target, object result, long state) {
            Say("after " + (target == null ? "none" : target.GetType().Name) + " " + result + " " + state);
        }

        public static void All(string method, object[] arguments) {
            Say("all " + method + " " + string.Join(" ", arguments));
        }

        static int last;

        public static void Line(int line, string caller) {
            Say((last == 0 && line > 0 ? "a line" : line - last + " lines on") + " in " + caller);
            last = line;
        }

        public static void Outer() {
            Say("outer");
        }

        public static void Bad(object target) {
            throw new InvalidOperationException("bad hook");
        }

        public static void Strict(object target) {
            throw new InvalidOperationException("strict hook");
        }
    }
}
