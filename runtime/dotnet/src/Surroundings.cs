using System;
using System.Globalization;
using System.IO;

namespace Weave.Runtime
{
    /// <summary>What bounds the trace where nobody has set a limit: the room of its disk, and of the process's container.</summary>
    internal static class Surroundings
    {
        private const long None = long.MaxValue;

        /// <summary>Half of what is free on the file system of a folder.</summary>
        internal static long HalfOfTheDisk(string folder)
        {
            try
            {
                long free = Host.FreeRoom(folder);
                return free < 0 ? None : free / 2;
            }
            catch (Exception)
            {
                return None;
            }
        }

        /// <summary>
        /// A share of the memory that the process's control group may have, if the file system of the folder keeps
        /// files in memory.
        /// </summary>
        internal static long QuarterOfTheContainer(string folder)
        {
            try
            {
                return IsInMemory(folder) ? Container("") : None;
            }
            catch (Exception)
            {
                return None;
            }
        }

        internal static bool IsBelow(string root, string folder)
        {
            return folder == root || folder.StartsWith(root.EndsWith("/", StringComparison.Ordinal) ? root : root + "/", StringComparison.Ordinal);
        }

        private static bool IsInMemory(string folder)
        {
            string type = "";
            int length = -1;
            foreach (string line in SystemFile.Lines("/proc/mounts"))
            {
                string[] fields = line.Split(' ');
                if (fields.Length > 2 && fields[1].Length >= length && IsBelow(fields[1], folder))
                {
                    length = fields[1].Length;
                    type = fields[2];
                }
            }
            return type == "tmpfs" || type == "ramfs";
        }

        /// <summary>A share of what the control group may have; what the system calls <c>/</c> is that folder.</summary>
        internal static long Container(string system)
        {
            long least = None;
            foreach (string line in SystemFile.Lines(system + "/proc/self/cgroup"))
            {
                string[] fields = line.Split(':');
                if (fields.Length < 3)
                {
                    continue;
                }
                bool second = fields[1].Length == 0;
                if (!second && !("," + fields[1] + ",").Contains(",memory,"))
                {
                    continue;
                }
                string path = line.Substring(fields[0].Length + fields[1].Length + 2); // a colon may be in it
                string root = system + (second ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory");
                string most = second ? "memory.max" : "memory.limit_in_bytes";
                string used = second ? "memory.current" : "memory.usage_in_bytes";
                for (string group = root + path.TrimEnd('/'); ; group = Path.GetDirectoryName(group))
                {
                    long limit = Number(group + "/" + most);
                    if (limit > 0 && limit < 1L << 60)
                    {
                        least = Math.Min(least, limit / 4);
                        long now = Number(group + "/" + used);
                        least = now < 0 ? least : Math.Min(least, Math.Max(limit - now, 0) / 4);
                    }
                    if (group == null || group.Length <= root.Length)
                    {
                        break;
                    }
                }
            }
            return least;
        }

        /// <summary>-1 if there is none.</summary>
        private static long Number(string path)
        {
            long number;
            return File.Exists(path) && long.TryParse(SystemFile.Text(path).Trim(), NumberStyles.None, CultureInfo.InvariantCulture, out number)
                ? number : -1;
        }
    }
}
