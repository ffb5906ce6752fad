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

        private const int SetLock = 6;
        private const short WriteLock = 1;

        /// <summary>A <c>struct flock</c> of Linux, where a word has 64 bits.</summary>
        private struct FileLock
        {
            internal short Kind;
            internal short From;
            internal long Start;
            internal long Length;
            internal int Owner;
        }

        [DllImport("libc", EntryPoint = "fcntl")]
        private static extern int Control(IntPtr file, int what, FileLock* how);

        /// <summary>Whether the lock of a byte is this process's now; never where a word has 32 bits.</summary>
        internal static bool Lock(IntPtr file, long at)
        {
            var how = new FileLock { Kind = WriteLock, Start = at, Length = 1 };
            return sizeof(IntPtr) == 8 && Control(file, SetLock, &how) == 0;
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
