namespace System.Threading
{
    public static class ThreadPool
    {
#if NET8_0_OR_GREATER
        public static long PendingWorkItemCount { get { throw null; } }
#endif
    }
}
