using System;
using System.IO;
using System.Runtime.InteropServices;

namespace Weave.Runtime
{
    /// <summary>What is a Unix's own. Elsewhere nothing happens.</summary>
    internal static unsafe class Posix
    {
        internal const int OwnersFile = (int)(UnixFileMode.UserRead | UnixFileMode.UserWrite);
        internal const int OwnersFolder = OwnersFile | (int)UnixFileMode.UserExecute;

        /// <summary>The first four fields of a <c>struct rusage</c> are two times, in seconds and microseconds.</summary>
        private const int UsageWords = 64;

        [DllImport("libc", EntryPoint = "getrusage")]
        private static extern int GetUsage(int who, IntPtr* usage);

        internal static void SetMode(string path, int mode)
        {
            if (OperatingSystem.IsWindows())
            {
                return;
            }
            try
            {
                File.SetUnixFileMode(path, (UnixFileMode)mode);
            }
            catch (Exception)
            {
                // It stays as the user's mask has it.
            }
        }

        /// <summary>Of the process, in ticks of 100 ns; -1 if it is not known.</summary>
        internal static long CpuTime()
        {
            IntPtr* usage = stackalloc IntPtr[UsageWords];
            // A microsecond's field may be half a word.
            return GetUsage(0, usage) != 0 ? -1
                : ((long)usage[0] + (long)usage[2]) * 10000000 + ((int)(long)usage[1] + (int)(long)usage[3]) * 10L;
        }
    }
}
