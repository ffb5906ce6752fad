using System;
using System.Reflection;
using System.Threading;

namespace Weave.Runtime
{
    /// <summary>What has to be asked of the host. Each target has a part of its own, with the same members.</summary>
    internal static partial class Host
    {
        /// <summary>
        /// Whether this copy of the library may be unloaded before the process ends. Then nothing that stays may hold it: no
        /// thread, no handler of the application domain's events.
        /// </summary>
        internal static readonly bool IsCollectible = Collectible();

        /// <summary>The command line, as far as it is known.</summary>
        internal static string Command()
        {
            try
            {
                return CommandLine();
            }
            catch (Exception)
            {
                return null;
            }
        }

        /// <summary>
        /// Tools that run a program to ask it something, and not for what it does: at the end of a build (OpenAPI documents) or for
        /// those who write it (Entity Framework's, scaffolding). Their own assembly is the process's first.
        /// </summary>
        private static readonly string[] DesignTools =
        {
            "GetDocument.Insider", "ef", "dotnet-aspnet-codegenerator-design", "dotnet-swagger", "NSwag.AspNetCore.Launcher",
        };

        /// <summary>Whether such a tool runs the program.</summary>
        internal static bool IsDesignTool()
        {
            try
            {
                Assembly entry = Assembly.GetEntryAssembly();
                string name = entry == null ? null : entry.FullName;
                foreach (string tool in DesignTools)
                {
                    if (name != null && name.StartsWith(tool + ",", StringComparison.Ordinal))
                    {
                        return true;
                    }
                }
            }
            catch (Exception)
            {
            }
            return false;
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
