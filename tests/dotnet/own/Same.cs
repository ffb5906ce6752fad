using System;

namespace Acme
{
    /// <summary>Hooks that may change what a method does, and do not.</summary>
    public static class Same
    {
        public static string Text(string value) { return value; }
        public static int Number(int value) { return value; }
        public static long Wide(long value) { return value; }
        public static bool Truth(bool value) { return value; }
        public static object Object(object value) { return value; }
        public static string NoText(string method) { return null; }
        public static object Nothing() { return null; }
        public static bool Never(string method) { return false; }
        public static Exception Thrown(Exception exception) { return exception; }
        public static string Fallback(Exception exception) { return exception.Message; }
        public static int Zero(Exception exception) { return 0; }
        public static object Begin(string method) { return method; }
        public static void End(object state) { }
        public static T Proceed<T>(Func<T> proceed) { return proceed(); }
        public static void Proceed(Action proceed) { proceed(); }
    }
}
