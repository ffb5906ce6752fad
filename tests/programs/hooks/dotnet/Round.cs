using System;
using System.Threading;

namespace acme
{
    /// <summary>Hooks in the places of bodies. The Java one beside it does the same.</summary>
    public static class Round
    {
        /// <summary>A delegate of the library's own.</summary>
        public delegate object Body();

        public delegate T Named<T>();

        public static T retry<T>(Func<T> proceed, int times)
        {
            for (int i = 1; ; i++)
            {
                try
                {
                    return proceed();
                }
                catch (Exception e)
                {
                    Log.line("  again after " + e.Message);
                    if (i == times)
                    {
                        throw;
                    }
                }
            }
        }

        /// <summary>It never runs the body.</summary>
        public static string never(string method, Func<string> proceed)
        {
            return "not " + method;
        }

        public static int twice(Func<int> proceed)
        {
            return proceed() + proceed();
        }

        public static void elsewhere(ThreadStart proceed)
        {
            Thread thread = new Thread(proceed);
            thread.Name = "elsewhere";
            thread.Start();
            thread.Join();
        }

        public static int traced(int n, Func<int> proceed)
        {
            Log.line("  in " + n);
            int result = proceed();
            Log.line("  out " + n + " = " + result);
            return result;
        }

        public static int next(int n, Func<int, int> proceed)
        {
            return proceed(n + 1) * 10;
        }

        public static long swapped(Func<long, long, long> proceed, long a, long b)
        {
            return proceed(b, a);
        }

        public static object any(object self, string method, string signature, object[] args, Body proceed)
        {
            Log.line("  any " + method + java(signature) + " of " + Log.list(args) + (self == null ? "" : " with this"));
            object result = proceed();
            Log.line("  any " + method + " gave " + Log.show(result));
            return result;
        }

        /// <summary>Types in the words of Java.</summary>
        private static string java(string signature)
        {
            return signature.Replace("bool", "boolean").Replace("sbyte", "byte").Replace("string", "String").Replace("!!0", "java.lang.Comparable");
        }

        public static object inner(Func<object> proceed)
        {
            Log.line("    inner begins");
            object result = proceed();
            Log.line("    inner ends");
            return result;
        }

        public static string named(Named<string> proceed)
        {
            return "named " + proceed();
        }

        public static long both(Func<object> boxed, Func<long> plain)
        {
            return (long)boxed() + plain();
        }

        public static T typed<T>(Func<T> proceed, string method)
        {
            Log.line("  typed " + method + " of " + typeof(T).Name);
            return proceed();
        }

        public static void typed(Action proceed, string method)
        {
            Log.line("  typed " + method);
            proceed();
        }

        public static void seen(object state, object self)
        {
            Log.line("  " + state + " ends with " + (self == null ? "nothing" : self.GetType().Name));
        }

        public static object boxed(Body proceed)
        {
            return proceed();
        }

        /// <summary>It runs the body with other arguments, and once more.</summary>
        public static int again(Func<int, int> proceed, int n)
        {
            return proceed(n) + proceed(0);
        }

        public static object wrong()
        {
            return "a text";
        }

        public static object seven()
        {
            return 7;
        }
    }
}
