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
        internal static long Get()
        {
            int system = GetSystem(); // first: what comes next may change it
            return With(system);
        }

        internal static void Set(long error)
        {
            SetKept(error);
            SetSystem((int)error);
        }

        /// <summary>That of the system, and what .NET has kept.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        internal static long With(int system)
        {
            return (long)Marshal.GetLastPInvokeError() << 32 | (uint)system;
        }

        /// <summary>Puts back what .NET has kept.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        internal static void SetKept(long error)
        {
            Marshal.SetLastPInvokeError((int)(error >> 32));
        }

        internal static int GetSystem()
        {
            return Marshal.GetLastSystemError();
        }

        internal static void SetSystem(int error)
        {
            Marshal.SetLastSystemError(error);
        }
    }
}
