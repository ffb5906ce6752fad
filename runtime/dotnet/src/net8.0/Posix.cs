using System;
using System.IO;
using System.Runtime.InteropServices;

namespace Weave.Runtime
{
    internal static unsafe partial class Posix
    {
        internal const int OwnersFile = (int)(UnixFileMode.UserRead | UnixFileMode.UserWrite);
        internal const int OwnersFolder = OwnersFile | (int)UnixFileMode.UserExecute;

        /// <summary>The first four fields of a <c>struct rusage</c> are two times, in seconds and microseconds.</summary>
        private const int UsageWords = 64;

        [DllImport("libc", EntryPoint = "getrusage")]
        private static extern int GetUsage(int who, IntPtr* usage);

        /// <summary>Tries to lock so many bytes from the file's position on, for this process.</summary>
        private const int TryLock = 2;

        // Offsets of 64 bits. Where these are the only ones, their names are the short ones.
        [DllImport("libc", EntryPoint = "lseek64")]
        private static extern long Seek64(IntPtr file, long at, int from);

        [DllImport("libc", EntryPoint = "lockf64")]
        private static extern int Lock64(IntPtr file, int what, long length);

        [DllImport("libc", EntryPoint = "lseek")]
        private static extern long Seek(IntPtr file, long at, int from);

        [DllImport("libc", EntryPoint = "lockf")]
        private static extern int Lock(IntPtr file, int what, long length);

        /// <summary>Whether the lock of a byte is this process's now. Moves the file's position, which nobody uses.</summary>
        internal static bool Lock(IntPtr file, long at)
        {
            try
            {
                return Seek64(file, at, 0) == at && Lock64(file, TryLock, 1) == 0;
            }
            catch (EntryPointNotFoundException)
            {
                return Seek(file, at, 0) == at && Lock(file, TryLock, 1) == 0;
            }
        }

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
