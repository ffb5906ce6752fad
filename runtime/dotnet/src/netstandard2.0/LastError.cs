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
        private static readonly Func<int> GetSystem = Host.Find<Func<int>>(typeof(Marshal), "GetLastSystemError");
        private static readonly Action<int> SetSystem = Host.Find<Action<int>>(typeof(Marshal), "SetLastSystemError");

        internal static long Get()
        {
            uint system = GetSystem == null ? 0 : (uint)GetSystem();
            return (long)Marshal.GetLastWin32Error() << 32 | system;
        }

        internal static void Set(long error)
        {
            int kept = (int)(error >> 32);
            if (Marshal.GetLastWin32Error() != kept && Setter.Set != null)
            {
                Setter.Set(kept);
            }
            if (SetSystem != null)
            {
                SetSystem((int)error);
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
