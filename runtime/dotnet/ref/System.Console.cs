namespace System
{
    public static class Console
    {
        public static IO.TextWriter Error { get { throw null; } }
    }
}
