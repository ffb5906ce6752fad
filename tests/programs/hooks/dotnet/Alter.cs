using System;

namespace acme
{
    /// <summary>Hooks that change what methods do. The Java one beside it does the same.</summary>
    public static class Alter
    {
        public static string clean(string text)
        {
            return "<" + text + ">";
        }

        public static int more(int n)
        {
            return n + 1;
        }

        public static string fallback(Exception e)
        {
            Log.line("  falls back from " + e.Message);
            return "instead of " + e.Message;
        }

        public static int number(Exception e)
        {
            return e.Message.Length;
        }

        public static InvalidOperationException translate(Exception e)
        {
            return new InvalidOperationException("translated " + e.Message);
        }

        public static string cached(string key)
        {
            return key == "hit" ? "cached" : null;
        }

        public static bool off(int n)
        {
            return n == 0;
        }

        public static string badText(object value)
        {
            throw new InvalidOperationException("hook with " + Log.show(value));
        }

        public static int badNumber()
        {
            throw new InvalidOperationException("hook");
        }

        public static string badFallback(Exception e)
        {
            throw new InvalidOperationException("hook for " + e.Message);
        }

        public static InvalidOperationException badThrow(Exception e)
        {
            throw new InvalidOperationException("hook for " + e.Message);
        }

        public static bool badOff(string method)
        {
            throw new InvalidOperationException("hook of " + method);
        }

        public static object begin(string who)
        {
            Log.line("  " + who + " begins");
            return who;
        }

        public static void end(object state, object result)
        {
            Log.line("  " + Log.show(state) + " ends with " + Log.show(result));
        }

        public static void failed(object state, Exception e)
        {
            Log.line("  " + Log.show(state) + " fails with " + e.Message);
        }

        public static void note(object[] args, object result)
        {
            Log.line("  note " + Log.list(args) + " " + Log.show(result));
        }

        /// <summary>Calls woven code, which has this very hook.</summary>
        public static string twice(object self, string text)
        {
            return text + "/" + self.ToString();
        }
    }
}
