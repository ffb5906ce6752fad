using System;
using System.Diagnostics;
using System.IO;
using System.Reflection;
using System.Threading;

namespace Weave.Runtime
{
    /// <summary>What has to be asked of the host.</summary>
    internal static class Host
    {
        /// <summary>
        /// Whether this copy of the library may be unloaded before the process ends. Then nothing that stays may hold it: no
        /// thread, no handler of the application domain's events.
        /// </summary>
        internal static readonly bool IsCollectible = Collectible();

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

        /// <summary>The process's number, or 0.</summary>
        internal static long Pid()
        {
            try
            {
                // Where there is such a file it costs far less than the process's class.
                if (File.Exists("/proc/self/stat"))
                {
                    long pid = 0;
                    using (var file = new FileStream("/proc/self/stat", FileMode.Open, FileAccess.Read, FileShare.ReadWrite))
                    {
                        for (int c; (c = file.ReadByte()) >= '0' && c <= '9';)
                        {
                            pid = pid * 10 + (c - '0');
                        }
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

        /// <summary>The command line, as far as it is known.</summary>
        internal static string Command()
        {
            try
            {
                return Environment.CommandLine;
            }
            catch (Exception)
            {
                return null;
            }
        }

        /// <summary>A thread's name; of one that has none, what it is, with its managed number.</summary>
        internal static string Name(Thread thread)
        {
            string name = thread.Name;
            if (!string.IsNullOrEmpty(name))
            {
                return name;
            }
            int number = thread.ManagedThreadId;
            return number == 1 ? "main" : (thread.IsThreadPoolThread ? "ThreadPool " : "Thread ") + number;
        }
    }
}
