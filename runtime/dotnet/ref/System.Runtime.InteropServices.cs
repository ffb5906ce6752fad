namespace System.Runtime.InteropServices
{
    public static class Marshal
    {
        public static int GetLastWin32Error() { throw null; }
#if NET8_0_OR_GREATER
        public static int GetLastPInvokeError() { throw null; }
        public static void SetLastPInvokeError(int error) { }
        public static int GetLastSystemError() { throw null; }
        public static void SetLastSystemError(int error) { }
#endif
    }
}
