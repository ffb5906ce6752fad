namespace System.Threading
{
    public delegate void ThreadStart();

    public class ThreadInterruptedException : SystemException { }

    public sealed class Thread
    {
        public Thread(ThreadStart start) { }
        public static Thread CurrentThread { get { throw null; } }
        public bool IsAlive { get { throw null; } }
        public bool IsBackground { get { throw null; } set { } }
        public bool IsThreadPoolThread { get { throw null; } }
        public int ManagedThreadId { get { throw null; } }
        public string Name { get { throw null; } set { } }
        public void Interrupt() { }
#if NET8_0_OR_GREATER
        public void UnsafeStart() { }
#endif
        public void Start() { }
        public static void MemoryBarrier() { }
        public static void Sleep(int milliseconds) { }
        public static bool Yield() { throw null; }
    }
}
