using System;
using System.Collections.Generic;
using System.IO;
using System.IO.Enumeration;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

namespace Weave.Runtime
{
    /// <summary>
    /// What .NET 8 has. All of it goes into a native program, so nothing here looks up members by name, and nothing drags in
    /// much else: the class library's <c>Process</c> alone is 170 KB.
    /// </summary>
    internal static partial class Host
    {
        private static bool exceptionsUnknown;

        private static bool Collectible()
        {
            return typeof(Host).Assembly.IsCollectible;
        }

        internal static bool HasStack()
        {
            return RuntimeHelpers.TryEnsureSufficientExecutionStack();
        }

        /// <summary>The process's number.</summary>
        internal static long Pid()
        {
            return Environment.ProcessId;
        }

        /// <summary>The command line.</summary>
        private static string CommandLine()
        {
            // The class library's weighs 17 KB in a native program.
            return RuntimeFeature.IsDynamicCodeSupported || !OperatingSystem.IsLinux() ? Environment.CommandLine
                : SystemFile.Text("/proc/self/cmdline").TrimEnd('\0').Replace('\0', ' ');
        }

        /// <summary>Bytes that the user may still write to the file system of a folder.</summary>
        internal static long FreeRoom(string folder)
        {
            // Unix takes any folder. So no list of drives is needed, which weighs 180 KB.
            return new DriveInfo(OperatingSystem.IsWindows() ? Path.GetPathRoot(folder) : folder).AvailableFreeSpace;
        }

        /// <summary>The names of a folder's files.</summary>
        internal static List<string> Files(string folder)
        {
            var names = new List<string>();
            using (var files = new FileNames(folder))
            {
                while (files.MoveNext())
                {
                    names.Add(files.Current);
                }
            }
            return names;
        }

        /// <summary>Without the patterns and sequences that <c>Directory.GetFiles</c> has.</summary>
        private sealed class FileNames : FileSystemEnumerator<string>
        {
            internal FileNames(string folder) : base(folder, new EnumerationOptions { AttributesToSkip = 0 })
            {
            }

            protected override bool ShouldIncludeEntry(ref FileSystemEntry entry)
            {
                return !entry.IsDirectory;
            }

            protected override string TransformEntry(ref FileSystemEntry entry)
            {
                return entry.FileName.ToString();
            }
        }

        /// <summary>Without the program's execution context, which is none of the thread's business.</summary>
        internal static void Start(Thread thread)
        {
            thread.UnsafeStart();
        }

        /// <summary>A resource of an assembly, which is in memory.</summary>
        internal static unsafe byte[] Resource(Assembly assembly, string name)
        {
            using (var stream = (UnmanagedMemoryStream)assembly.GetManifestResourceStream(name))
            {
                return new ReadOnlySpan<byte>(stream.PositionPointer, (int)stream.Length).ToArray();
            }
        }

        /// <summary>What tells two assemblies of one name apart. A native program has no two.</summary>
        internal static string ModuleVersion(Assembly assembly)
        {
            return RuntimeFeature.IsDynamicCodeSupported ? assembly.ManifestModule.ModuleVersionId.ToString() : "";
        }

        /// <summary>In ticks of 100 ns.</summary>
        internal static long CpuTime()
        {
            if (!OperatingSystem.IsWindows())
            {
                return Posix.CpuTime();
            }
            long created, ended, kernel, user;
            return GetProcessTimes((IntPtr)(-1), out created, out ended, out kernel, out user) != 0 ? kernel + user : -1;
        }

        /// <summary>-1 is the process itself. Times are in ticks of 100 ns.</summary>
        [DllImport("kernel32")]
        private static extern int GetProcessTimes(IntPtr process, out long created, out long ended, out long kernel, out long user);

        /// <summary>Resident memory, where the system has no file that tells it; -1 where there is none.</summary>
        internal static long Resident()
        {
            return OperatingSystem.IsLinux() ? -1 : Environment.WorkingSet;
        }

        /// <summary>In ticks of 100 ns.</summary>
        internal static long Pauses()
        {
            return GC.GetTotalPauseDuration().Ticks;
        }

        internal static long PoolQueue()
        {
            return ThreadPool.PendingWorkItemCount;
        }

        /// <summary>-1 where the runtime has no such method: it is its own.</summary>
        internal static long Exceptions()
        {
            if (exceptionsUnknown)
            {
                return -1;
            }
            try
            {
                return ExceptionCount(null);
            }
            catch (MissingMemberException)
            {
                exceptionsUnknown = true;
                return -1;
            }
        }

        [UnsafeAccessor(UnsafeAccessorKind.StaticMethod, Name = "GetExceptionCount")]
        private static extern uint ExceptionCount(Exception type);

        internal static long Allocated()
        {
            return GC.GetTotalAllocatedBytes(false);
        }
    }
}
