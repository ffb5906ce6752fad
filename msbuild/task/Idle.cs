using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using Microsoft.Build.Framework;

namespace Weave.MSBuild
{
    /// <summary>
    /// Warns of the aspects that no project of a solution uses (WV0120), of rules that several share. Each project has a file of
    /// its own that names the lists of its weaves; they are what the program's `--idle-list` writes.
    /// </summary>
    public sealed class WeaveIdle : ITask
    {
        /// <summary>A line of a list: used, idle or own, file, line, column, what to say.</summary>
        const int Fields = 5;

        public IBuildEngine BuildEngine { get; set; }
        public ITaskHost HostObject { get; set; }

        /// <summary>The projects' files: the build that wrote them, `quiet` where WV0120 is silenced, and the paths of lists.</summary>
        public string[] Files { get; set; }

        /// <summary>This build: what another one left counts for nothing.</summary>
        public string Build { get; set; }

        readonly List<string> used = new List<string>();
        readonly List<string> idle = new List<string>();
        readonly List<string[]> told = new List<string[]>();

        public bool Execute()
        {
            try
            {
                ReadAll();
            }
            catch (IOException)
            {
                return true; // another build is at it, too, and what is used is not known
            }
            for (int i = 0; i < idle.Count; i++)
            {
                if (!Has(used, idle[i]))
                    Warn(told[i]);
            }
            return true;
        }

        void ReadAll()
        {
            foreach (string file in Files ?? new string[0])
            {
                string[] lines = File.ReadAllLines(file);
                if (lines.Length == 0 || !Same(lines[0], Build))
                    continue;
                bool quiet = lines.Length > 1 && Same(lines[1], "quiet");
                for (int i = quiet ? 2 : 1; i < lines.Length; i++)
                    Read(lines[i], quiet);
            }
        }

        void Read(string list, bool quiet)
        {
            foreach (string line in File.ReadAllLines(list))
            {
                string[] parts = line.Split('\t');
                if (parts.Length != Fields)
                    continue;
                string place = string.Concat(parts[1], "\t", parts[2], string.Concat("\t", parts[3]));
                if (Same(parts[0], "used"))
                {
                    if (!Has(used, place))
                        used.Add(place);
                }
                else if (Same(parts[0], "idle") && !quiet && !Has(idle, place))
                {
                    idle.Add(place);
                    told.Add(parts);
                }
            }
        }

        void Warn(string[] parts)
        {
            string text = string.Concat(parts[4], ", in each project of the solution");
            BuildEngine.LogWarningEvent(new BuildWarningEventArgs(null, "WV0120", parts[1], Number(parts[2]), Number(parts[3]), 0, 0, text, null, "weave"));
        }

        static bool Has(List<string> all, string one)
        {
            for (int i = 0; i < all.Count; i++)
            {
                if (Same(all[i], one))
                    return true;
            }
            return false;
        }

        static bool Same(string a, string b)
        {
            return string.Equals(a, b, StringComparison.Ordinal);
        }

        static int Number(string text)
        {
            long value;
            return long.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out value) && value < int.MaxValue ? (int)value : 0;
        }
    }
}
