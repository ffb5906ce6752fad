using System;
using System.Runtime.InteropServices;

namespace Weave.Runtime
{
    /// <summary>
    /// What the program's last call of native code has left for the program to read. Calls of the class library write it too, so whatever
    /// makes such calls on a thread of the program's puts it back.
    /// </summary>
    internal static class LastError
    {
        internal static int Get()
        {
            return Marshal.GetLastWin32Error();
        }

        internal static void Set(int error)
        {
            if (Marshal.GetLastWin32Error() != error && Setter.Set != null)
            {
                Setter.Set(error);
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
