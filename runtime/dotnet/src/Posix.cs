using System;
using System.Runtime.InteropServices;
using System.Text;

namespace Weave.Runtime
{
    /// <summary>What is a Unix's own. Elsewhere nothing happens. Each target has a part of its own.</summary>
    internal static unsafe partial class Posix
    {
        private const int WorkingDirectory = -100;
        private const uint TypeOnly = 1;
        /// <summary>The bytes of a <c>struct statx</c>, which is the same on all of Linux's architectures, and where its mode is.</summary>
        private const int StatusBytes = 256;
        private const int OwnerAt = 20;
        private const int ModeAt = 28;
        private const int InodeAt = 32;
        private const int LengthAt = 40;
        /// <summary>Type, owner, inode and length.</summary>
        private const uint OwnerAndLength = 0x1 | 0x8 | 0x100 | 0x200;
        private const int NoFollow = 0x100;
        private const int EmptyPath = 0x1000;

        private const int TypeOfFile = 0xF000;
        private const int Folder = 0x4000;
        private const int Regular = 0x8000;

        /// <summary>Linux's number of a thread's CPU clock has these bits below those of the thread's number, which are inverted.</summary>
        private const int ThreadClockBits = 6;

        /// <summary>What runs here, where that is Linux, and a word has 64 bits.</summary>
        internal enum Machine
        {
            Other,
            X64,
            Arm64,
        }

        /// <summary>A field of Linux's <c>struct utsname</c> has so many bytes; the machine is the fifth.</summary>
        private const int NameBytes = 65;
        /// <summary>Other systems have longer ones: 1,280 bytes on macOS and the BSDs.</summary>
        private const int MostNames = 4096;

        [DllImport("libc", EntryPoint = "uname")]
        private static extern int GetNames(byte* names);

        internal static Machine LinuxMachine()
        {
            if (System.IO.Path.DirectorySeparatorChar != '/' || sizeof(IntPtr) != 8)
            {
                return Machine.Other;
            }
            byte* names = stackalloc byte[MostNames];
            try
            {
                if (GetNames(names) != 0 || !Is(names, "Linux"))
                {
                    return Machine.Other;
                }
            }
            catch (Exception)
            {
                return Machine.Other;
            }
            byte* machine = names + 4 * NameBytes;
            return Is(machine, "x86_64") ? Machine.X64 : Is(machine, "aarch64") ? Machine.Arm64 : Machine.Other;
        }

        private static bool Is(byte* text, string word)
        {
            for (int i = 0; i < word.Length; i++)
            {
                if (text[i] != word[i])
                {
                    return false;
                }
            }
            return text[word.Length] == 0;
        }

        [DllImport("libc", EntryPoint = "gettid")]
        private static extern int GetThread();

        [DllImport("libc", EntryPoint = "clock_gettime")]
        private static extern int GetTime(int clock, long* time);

        /// <summary>The CPU clock of the running thread, which any thread may read; 0 if there is none: Linux has them, where a word has 64 bits.</summary>
        internal static int ThreadClock()
        {
            if (System.IO.Path.DirectorySeparatorChar != '/' || sizeof(IntPtr) != 8)
            {
                return 0;
            }
            try
            {
                return ~GetThread() << 3 | ThreadClockBits;
            }
            catch (Exception)
            {
                return 0;
            }
        }

        /// <summary>What such a clock shows, in nanoseconds; -1 if its thread is gone.</summary>
        internal static long ThreadTime(int clock)
        {
            long* time = stackalloc long[2];
            return GetTime(clock, time) != 0 ? -1 : time[0] * 1000000000 + time[1];
        }

        /// <summary>Of <c>getrlimit</c>: how long a file of this process may become.</summary>
        private const int FileSize = 1;

        [DllImport("libc", EntryPoint = "getrlimit")]
        private static extern int GetLimit(int what, long* limits);

        /// <summary>
        /// How long a file of this process may become (<c>ulimit -f</c>): to write beyond that ends the process by a signal. Anybody may set
        /// it anew, so it is asked each time.
        /// </summary>
        internal static long LongestFile()
        {
            if (System.IO.Path.DirectorySeparatorChar != '/' || sizeof(IntPtr) != 8)
            {
                return long.MaxValue;
            }
            try
            {
                long* limits = stackalloc long[2];
                return GetLimit(FileSize, limits) != 0 || limits[0] < 0 ? long.MaxValue : limits[0];
            }
            catch (Exception)
            {
                return long.MaxValue;
            }
        }

        /// <summary>Of Linux's <c>getrlimit</c>: how many files this process may have open.</summary>
        private const int OpenFiles = 7;
        private const int GetFlags = 1;

        [DllImport("libc", EntryPoint = "fcntl")]
        private static extern int Ask(int file, int what, IntPtr how);

        [DllImport("libc", EntryPoint = "write")]
        private static extern IntPtr Write(int file, byte* bytes, IntPtr length);

        /// <summary>Whether this process may open so many files more; true where that is not known. It opens none itself.</summary>
        internal static bool HasFiles(int wanted)
        {
            if (System.IO.Path.DirectorySeparatorChar != '/' || sizeof(IntPtr) != 8)
            {
                return true;
            }
            try
            {
                long* limits = stackalloc long[2];
                if (GetLimit(OpenFiles, limits) != 0)
                {
                    return true;
                }
                for (long file = 0; file < limits[0] && wanted > 0; file++)
                {
                    wanted -= Ask((int)file, GetFlags, (IntPtr)0) < 0 ? 1 : 0;
                }
                return wanted <= 0 || limits[0] < 0;
            }
            catch (Exception)
            {
                return true; // another system
            }
        }

        /// <summary>Writes a line to the error stream without opening anything.</summary>
        internal static void WriteError(string line)
        {
            fixed (byte* bytes = Encoding.UTF8.GetBytes(line + "\n"))
            {
                Write(2, bytes, (IntPtr)(line.Length + 1));
            }
        }

        [DllImport("libc", EntryPoint = "statx")]
        private static extern int GetStatus(int folder, byte* path, int flags, uint mask, byte* status);

        /// <summary>What lies at a path, no link followed. Linux knows.</summary>
        internal static FileStatus Status(string path)
        {
            return Status(WorkingDirectory, path, NoFollow);
        }

        /// <summary>What an open file is.</summary>
        internal static FileStatus Status(IntPtr file)
        {
            return Status((int)(long)file, "", EmptyPath);
        }

        private static FileStatus Status(int folder, string path, int flags)
        {
            var known = new FileStatus();
            if (System.IO.Path.DirectorySeparatorChar != '/')
            {
                return known;
            }
            try
            {
                byte* status = stackalloc byte[StatusBytes];
                fixed (byte* bytes = Encoding.UTF8.GetBytes(path + "\0"))
                {
                    if (GetStatus(folder, bytes, flags, OwnerAndLength, status) == 0)
                    {
                        known.IsKnown = true;
                        known.IsRegular = (*(ushort*)(status + ModeAt) & TypeOfFile) == Regular;
                        known.Owner = *(uint*)(status + OwnerAt);
                        known.Inode = *(ulong*)(status + InodeAt);
                        known.Length = *(ulong*)(status + LengthAt);
                    }
                }
            }
            catch (Exception)
            {
                known.IsKnown = false;
            }
            return known;
        }

        /// <summary>Whether there is something at a path that is neither a file nor a folder, such as a device or a pipe. Linux knows.</summary>
        internal static bool IsSpecial(string path)
        {
            if (System.IO.Path.DirectorySeparatorChar != '/')
            {
                return false;
            }
            try
            {
                byte* status = stackalloc byte[StatusBytes];
                fixed (byte* bytes = Encoding.UTF8.GetBytes(path + "\0"))
                {
                    if (GetStatus(WorkingDirectory, bytes, 0, TypeOnly, status) != 0)
                    {
                        return false;
                    }
                }
                int type = *(ushort*)(status + ModeAt) & TypeOfFile;
                return type != Folder && type != Regular;
            }
            catch (Exception)
            {
                return false;
            }
        }
    }
    /// <summary>What is known of a file: all zero where it is not there.</summary>
    internal struct FileStatus
    {
        internal bool IsKnown;
        internal bool IsRegular;
        internal uint Owner;
        internal ulong Inode;
        internal ulong Length;
    }
}
