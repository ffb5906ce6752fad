using System;
using System.Runtime.InteropServices;
using System.Threading;

namespace Weave.Runtime
{
    /// <summary>
    /// Who cuts a mapped file off takes its pages away. The next access raises SIGBUS, which ends a .NET process. Here a handler for that
    /// signal replaces the missing page by an empty one, so that the thread goes on. It looks at faults in registered maps
    /// alone; all others go to the handler that was there before. A thread in managed code cannot run managed code for a signal, so
    /// the handler is machine code. It makes one system call and touches no lock. Linux on x86-64 and ARM64 has it.
    /// </summary>
    /// <remarks>
    /// In C:
    /// <code>
    /// void handler(int signal, siginfo_t *info, void *context) {
    ///     for (long i = 0; info->si_code > 0 &amp;&amp; i &lt; data->count; i++)
    ///         if ((size_t)info->si_addr - data->map[i].start &lt; data->map[i].length) {
    ///             data->cut = 1;
    ///             if (mmap((size_t)info->si_addr &amp; data->page, -data->page, PROT_READ | PROT_WRITE,
    ///                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) > 0) return;
    ///             break;
    ///         }
    ///     data->previous(signal, info, context);
    /// }
    /// </code>
    /// </remarks>
    internal static unsafe class MapGuard
    {
        private static readonly ulong[] X64 =
        {
            0x00087e83fa1e0ff3, 0x7e0000fff10d8d4c, 0x098b4910468b4c68, 0x01e9834820518d4d, 0x022b49c0894c5778, 0x8349067208423b49,
            0x4c525657e8eb10c2, 0x8b4918792349c789, 0x0003badef7481871, 0x00000032ba410000, 0x41ffffffffc0c749, 0x45000000010841c7,
            0x0f00000009b8c931, 0x78c085485f5e5a05, 0x00ff870d8d4cc301, 0x0000001061ff4100,
        };

        private static readonly ulong[] Arm64 =
        {
            0x1007ffead503245f, 0x7100013fb9400829, 0xf9400829540003ad, 0x9100814cf940014b, 0xd100056bb400032b, 0xcb0d012fa8c1398d,
            0x54ffff62eb0e01ff, 0xaa0103ecaa0003eb, 0x5280002eaa0203ed, 0xf9400d4eb900094e, 0xcb0e03e18a0e0120, 0xd2800643d2800062,
            0xd280000592800004, 0xd4000001d2801bc8, 0xd65f03c0b7f80040, 0xaa0c03e1aa0b03e0, 0xf9400950aa0d03e2, 0x00000000d61f0200,
        };

        /// <summary>The code's part of the memory, a multiple of any page; the data is behind it.</summary>
        private const int CodeBytes = 65536;
        private const int DataBytes = 1 << 20;
        // Words of the data.
        private const int Count = 0;
        private const int Cut = 1;
        private const int Previous = 2;
        private const int PageMask = 3;
        private const int Maps = 4;
        private const int MostMaps = (DataBytes / 8 - Maps) / 2;

        private const int BusError = 7;
        /// <summary>A <c>struct sigaction</c> in words, and where its flags are.</summary>
        private const int ActionWords = 20;
        private const int FlagsAt = 136;
        private const int WithInformation = 4;

        private const int Readable = 1;
        private const int Writable = 2;
        private const int Executable = 4;
        private const int PrivateMemory = 0x22;

        private static bool tried;
        private static long* data;

        [DllImport("libc", EntryPoint = "mmap")]
        private static extern byte* GetMemory(byte* at, long length, int protection, int kind, int file, long offset);

        [DllImport("libc", EntryPoint = "mprotect")]
        private static extern int Protect(byte* at, long length, int protection);

        [DllImport("libc", EntryPoint = "sigaction")]
        private static extern int Handle(int signal, long* with, long* before);

        /// <summary>A page of a map was missing.</summary>
        internal static bool IsCut
        {
            get { return data != null && Volatile.Read(ref data[Cut]) != 0; }
        }

        /// <summary>Registers a map. Where there is no such handler nothing happens. Whoever calls this holds the file's gate.</summary>
        internal static void Add(byte* start, long length)
        {
            if (!tried)
            {
                tried = true;
                try
                {
                    Install();
                }
                catch (Exception)
                {
                    // Another system, which has no such functions.
                }
            }
            if (data == null || data[Count] == MostMaps)
            {
                return;
            }
            long count = data[Count];
            data[Maps + 2 * count] = (long)start;
            data[Maps + 2 * count + 1] = length;
            Volatile.Write(ref data[Count], count + 1);
        }

        /// <summary>Forgets all maps: they go.</summary>
        internal static void Clear()
        {
            if (data != null)
            {
                Volatile.Write(ref data[Count], 0);
            }
        }

        private static void Install()
        {
            ulong[] code = Code();
            if (code == null)
            {
                return;
            }
            byte* start = GetMemory(null, CodeBytes + DataBytes, Readable | Writable, PrivateMemory, -1, 0);
            if ((long)start == -1)
            {
                return;
            }
            var words = (long*)(start + CodeBytes);
            for (int i = 0; i < code.Length; i++)
            {
                ((ulong*)start)[i] = code[i];
            }
            long* action = stackalloc long[ActionWords];
            // It is written before it can run, and never again.
            if (Protect(start, CodeBytes, Readable | Executable) != 0 || Handle(BusError, null, action) != 0
                || (ulong)action[0] <= 1) // the default, or ignored: no runtime's
            {
                return;
            }
            words[PageMask] = -(long)Environment.SystemPageSize;
            words[Previous] = action[0];
            action[0] = (long)start;
            *(int*)((byte*)action + FlagsAt) |= WithInformation;
            if (Handle(BusError, action, null) == 0)
            {
                data = words;
            }
        }

        /// <summary>That of this machine, or null.</summary>
        private static ulong[] Code()
        {
            Posix.Machine machine = Posix.LinuxMachine();
            return machine == Posix.Machine.X64 ? X64 : machine == Posix.Machine.Arm64 ? Arm64 : null;
        }
    }
}
