namespace System.Diagnostics
{
    public class Process : IDisposable
    {
        public int Id { get { throw null; } }
        public TimeSpan TotalProcessorTime { get { throw null; } }
        public static Process GetCurrentProcess() { throw null; }
        public void Dispose() { }
    }
}
