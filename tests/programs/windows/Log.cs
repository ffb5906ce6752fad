// The library of own hooks.
using System.Threading;

namespace Acme
{
    public static class Log
    {
        static int began;

        public static void Began(string method, object[] args)
        {
            Interlocked.Increment(ref began);
        }

        public static void Failed(System.Exception e)
        {
            System.Console.Error.WriteLine("own hook: " + e.GetType().Name + " after " + began);
        }
    }
}
