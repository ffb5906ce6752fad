using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Weave.Runtime
{
    /// <summary>
    /// What the program's last call of native code has left for the program to read: the system's own number (<c>errno</c>), in the lower
    /// half, and what .NET has kept of one. Code that a compiler makes for such a call moves the one to the other behind it, and hooks may
    /// lie between. Calls of the class library write both, so whatever makes such calls on a thread of the program's puts them back.
    /// </summary>
    internal static class LastError
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        internal static long Get()
        {
            uint system = (uint)Marshal.GetLastSystemError(); // first: what comes next may change it
            return (long)Marshal.GetLastPInvokeError() << 32 | system;
        }

        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        internal static void Set(long error)
        {
            Marshal.SetLastPInvokeError((int)(error >> 32));
            Marshal.SetLastSystemError((int)error);
        }
    }
}
