using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Weave.Runtime
{
    /// <summary>The system's number of a thread's last error. On Linux it is read where it lies: hooks of one's own ask for it at each call.</summary>
    internal static unsafe class Errno
    {
        /// <summary>Where this thread's is; null where that is not known.</summary>
        [ThreadStatic]
        private static int* place;

        [DllImport("libc", EntryPoint = "__errno_location")]
        private static extern int* Locate();

        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        internal static int Get()
        {
            int* there = place;
            return there != null ? *there : First();
        }

        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        internal static void Set(int error)
        {
            int* there = place;
            if (there != null)
            {
                *there = error;
            }
            else
            {
                LastError.SetSystem(error);
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static int First()
        {
            int error = LastError.GetSystem(); // before anything that may change it
            if (Posix.LinuxMachine() != Posix.Machine.Other)
            {
                try
                {
                    place = Locate();
                }
                catch (Exception)
                {
                    // Another C library.
                }
            }
            return error;
        }
    }
}
