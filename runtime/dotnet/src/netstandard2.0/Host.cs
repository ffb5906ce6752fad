using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Weave.Runtime
{
    /// <summary>What .NET Standard 2.0 has. What only newer hosts tell is looked up by name; -1 where they do not.</summary>
    internal static partial class Host
    {
        /// <summary>The question that throws nothing; null where the host does not have it.</summary>
        private static readonly Func<bool> SufficientStack = Find<Func<bool>>(typeof(RuntimeHelpers), "TryEnsureSufficientExecutionStack");

        private static bool Collectible()
        {
            try
            {
                PropertyInfo property = typeof(Assembly).GetProperty("IsCollectible"); // .NET Core 3.0 and later
                return property != null && (bool)property.GetValue(typeof(Host).Assembly, null);
            }
            catch (Exception)
            {
                return false;
            }
        }

        internal static bool HasStack()
        {
            if (SufficientStack != null)
            {
                return SufficientStack();
            }
            try
            {
                RuntimeHelpers.EnsureSufficientExecutionStack();
                return true;
            }
            catch (Exception)
            {
                return false;
            }
        }

        /// <summary>The process's number, or 0.</summary>
        internal static long Pid()
        {
            try
            {
                // Where there is such a file it costs far less than the process's class.
                if (File.Exists("/proc/self/stat"))
                {
                    long pid = 0;
                    string stat = SystemFile.Text("/proc/self/stat");
                    for (int i = 0; i < stat.Length && stat[i] >= '0' && stat[i] <= '9'; i++)
                    {
                        pid = pid * 10 + (stat[i] - '0');
                    }
                    if (pid != 0)
                    {
                        return pid;
                    }
                }
            }
            catch (Exception)
            {
                // then the other way
            }
            try
            {
                using (Process self = Process.GetCurrentProcess())
                {
                    return self.Id;
                }
            }
            catch (Exception)
            {
                return 0;
            }
        }

        /// <summary>The command line.</summary>
        private static string CommandLine()
        {
            return Environment.CommandLine;
        }

        /// <summary>Bytes that the user may still write to the file system of a folder.</summary>
        internal static long FreeRoom(string folder)
        {
            DriveInfo best = null;
            int length = -1;
            foreach (DriveInfo drive in DriveInfo.GetDrives())
            {
                string root = drive.Name;
                if (root.Length > length && Surroundings.IsBelow(root, folder))
                {
                    length = root.Length;
                    best = drive;
                }
            }
            return best == null ? -1 : best.AvailableFreeSpace;
        }

        /// <summary>The names of a folder's files.</summary>
        internal static List<string> Files(string folder)
        {
            var names = new List<string>();
            foreach (string path in Directory.GetFiles(folder))
            {
                names.Add(Path.GetFileName(path));
            }
            return names;
        }

        /// <summary>A resource of an assembly.</summary>
        internal static byte[] Resource(Assembly assembly, string name)
        {
            using (Stream stream = assembly.GetManifestResourceStream(name))
            {
                var bytes = new byte[stream.Length];
                int at = 0;
                for (int n; at < bytes.Length && (n = stream.Read(bytes, at, bytes.Length - at)) > 0;)
                {
                    at += n;
                }
                return bytes;
            }
        }

        /// <summary>Without the program's execution context, which is none of the thread's business.</summary>
        internal static void Start(Thread thread)
        {
            if (ExecutionContext.IsFlowSuppressed())
            {
                thread.Start();
                return;
            }
            AsyncFlowControl flow = ExecutionContext.SuppressFlow();
            try
            {
                thread.Start();
            }
            finally
            {
                flow.Undo();
            }
        }

        /// <summary>What tells two assemblies of one name apart.</summary>
        internal static string ModuleVersion(Assembly assembly)
        {
            return assembly.ManifestModule.ModuleVersionId.ToString();
        }

        /// <summary>In ticks of 100 ns.</summary>
        internal static long CpuTime()
        {
            using (Process self = Process.GetCurrentProcess())
            {
                return self.TotalProcessorTime.Ticks;
            }
        }

        /// <summary>Resident memory, where the system has no file that tells it.</summary>
        internal static long Resident()
        {
            return Environment.WorkingSet;
        }

        /// <summary>In ticks of 100 ns.</summary>
        internal static long Pauses()
        {
            return Newer.PauseTime == null ? -1 : Newer.PauseTime().Ticks;
        }

        internal static long PoolQueue()
        {
            return Newer.Queue == null ? -1 : Newer.Queue();
        }

        internal static long Exceptions()
        {
            return Newer.ExceptionCount == null ? -1L : Newer.ExceptionCount();
        }

        internal static long Allocated()
        {
            return Newer.Allocation == null ? -1 : Newer.Allocation(false);
        }

        /// <summary>What newer hosts measure. A class of its own: another assembly is opened for it, where there may be no file left to open.</summary>
        private static class Newer
        {
            // .NET Core 3.0, 3.0 and 7; the runtime's own method of .NET Core 3.0.
            internal static readonly Func<long> Queue = Find<Func<long>>(typeof(ThreadPool), "get_PendingWorkItemCount");
            internal static readonly Func<bool, long> Allocation = Find<Func<bool, long>>(typeof(GC), "GetTotalAllocatedBytes");
            internal static readonly Func<TimeSpan> PauseTime = Find<Func<TimeSpan>>(typeof(GC), "GetTotalPauseDuration");
            internal static readonly Func<uint> ExceptionCount = Find<Func<uint>>(typeof(Exception), "GetExceptionCount");
        }

        /// <summary>A static method; null where there is none.</summary>
        internal static T Find<T>(Type type, string method) where T : class
        {
            try
            {
                return Delegate.CreateDelegate(typeof(T), type, method, false, false) as T;
            }
            catch (Exception)
            {
                return null;
            }
        }
    }
}
