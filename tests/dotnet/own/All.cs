using System;

namespace Acme
{
    /// <summary>Hooks that take everything a method has.</summary>
    public static class All
    {
        public static object Begin(object self, object[] arguments)
        {
            return self ?? arguments;
        }

        public static T One<T>(T value)
        {
            return value;
        }

        public static void End(object state, object self, object[] arguments, object result, long duration)
        {
        }

        public static void Failed(object state, object self, object[] arguments, Exception e, long duration)
        {
        }
    }
}
