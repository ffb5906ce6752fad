namespace System.Threading
{
    public class EventWaitHandle : WaitHandle
    {
        public bool Set() { throw null; }
    }

    public struct AsyncFlowControl
    {
        public void Undo() { }
    }

    public sealed class ExecutionContext
    {
        internal ExecutionContext() { }
        public static bool IsFlowSuppressed() { throw null; }
        public static AsyncFlowControl SuppressFlow() { throw null; }
    }

    public static class Monitor
    {
        public static void Enter(object obj, ref bool lockTaken) { }
        public static void Exit(object obj) { }
    }

    public struct AsyncLocalValueChangedArgs<T>
    {
        public T CurrentValue { get { throw null; } }
    }

    public sealed class AsyncLocal<T>
    {
        public AsyncLocal(System.Action<AsyncLocalValueChangedArgs<T>> valueChangedHandler) { }
        public T Value { get { throw null; } set { } }
    }

    public sealed class AutoResetEvent : EventWaitHandle
    {
        public AutoResetEvent(bool initialState) { }
    }

    public static class Interlocked
    {
        public static int CompareExchange(ref int location, int value, int comparand) { throw null; }
        public static long CompareExchange(ref long location, long value, long comparand) { throw null; }
        public static T CompareExchange<T>(ref T location, T value, T comparand) where T : class { throw null; }
        public static int Exchange(ref int location, int value) { throw null; }
        public static long Add(ref long location, long value) { throw null; }
        public static int Increment(ref int location) { throw null; }
        public static int Decrement(ref int location) { throw null; }
        public static long Exchange(ref long location, long value) { throw null; }
        public static long Increment(ref long location) { throw null; }
    }

    public static class Volatile
    {
        public static byte Read(ref byte location) { throw null; }
        public static int Read(ref int location) { throw null; }
        public static long Read(ref long location) { throw null; }
        public static T Read<T>(ref T location) where T : class { throw null; }
        public static void Write(ref byte location, byte value) { }
        public static void Write(ref int location, int value) { }
        public static void Write(ref long location, long value) { }
        public static void Write<T>(ref T location, T value) where T : class { }
    }
}
