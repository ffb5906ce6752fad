using System;
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
        // Since .NET 6, as is the code that reads it. Before that nothing of managed code does.
        private static readonly Func<int> SystemGetter = Host.Find<Func<int>>(typeof(Marshal), "GetLastSystemError");
        private static readonly Action<int> SystemSetter = Host.Find<Action<int>>(typeof(Marshal), "SetLastSystemError");

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
        internal static long With(int system)
        {
            return (long)Marshal.GetLastWin32Error() << 32 | (uint)system;
        }

        /// <summary>Puts back what .NET has kept.</summary>
        internal static void SetKept(long error)
        {
            int kept = (int)(error >> 32);
            if (Marshal.GetLastWin32Error() != kept && Setter.Set != null)
            {
                Setter.Set(kept);
            }
        }

        internal static int GetSystem()
        {
            return SystemGetter == null ? 0 : SystemGetter();
        }

        internal static void SetSystem(int error)
        {
            if (SystemSetter != null)
            {
                SystemSetter(error);
            }
        }

        /// <summary>Is looked up when something has to be put back, and not before.</summary>
        private static class Setter
        {
            // Since .NET 6; before that the runtime's own method.
            internal static readonly Action<int> Set = Host.Find<Action<int>>(typeof(Marshal), "SetLastPInvokeError")
                ?? Host.Find<Action<int>>(typeof(Marshal), "SetLastWin32Error");
        }
    }
}
