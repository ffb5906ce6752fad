using System;
using System.Globalization;
using System.IO;
using Microsoft.Build.Framework;

[assembly: System.Reflection.AssemblyVersion("1.0.0.0")]

namespace Weave.MSBuild
{
    /// <summary>
    /// Reports what the program wrote, a line each: `weave.toml(12,9): error WV0003: ..`. Exec can do so, too, but has an
    /// error of its own about the command behind each.
    /// </summary>
    public sealed class WeaveSay : ITask
    {
        public IBuildEngine BuildEngine { get; set; }
        public ITaskHost HostObject { get; set; }

        /// <summary>What the program wrote; a file that is not there says nothing.</summary>
        public string[] Files { get; set; }

        /// <summary>
        /// What `--idle-list` wrote in the weaves of this project's code and of its packages: an aspect that one of them used is not idle.
        /// </summary>
        public string[] Lists { get; set; }

        /// <summary>The places of aspects that need no warning (any more).</summary>
        string[] known = new string[0];

        /// <summary>How the program ended; empty where it did not run.</summary>
        public string ExitCode { get; set; }

        public bool Execute()
        {
            foreach (string list in Lists ?? new string[0])
                ReadUsed(list);
            bool failed = false;
            string rest = "";
            foreach (string file in Files ?? new string[0])
            {
                if (!File.Exists(file))
                    continue;
                foreach (string line in File.ReadAllLines(file))
                {
                    if (Say(line, "error"))
                        failed = true;
                    else if (!Say(line, "warning") && !Say(line, "message") && line.Length > 0)
                        rest = string.Concat(rest, rest.Length > 0 ? " " : "", line);
                }
            }
            bool ended = Same(ExitCode ?? "", "") || Same(ExitCode, "0");
            if (ended || failed)
                return !failed;
            string text = string.Concat("weave ended with ", ExitCode, rest.Length > 0 ? ": " : "", rest);
            BuildEngine.LogErrorEvent(new BuildErrorEventArgs(null, "WV0007", "weave", 0, 0, 0, 0, text, null, "weave"));
            return false;
        }

        /// <summary>Reports a line, if it is of this kind.</summary>
        bool Say(string line, string kind)
        {
            string mark = string.Concat(": ", kind, " WV");
            int at = 0;
            while (at < line.Length && !line.Substring(at).StartsWith(mark, StringComparison.Ordinal))
                at++;
            int code = at + mark.Length - 2;
            int colon = at < line.Length ? line.Substring(code).IndexOf(':') : -1;
            if (colon < 0)
                return false;
            string name = line.Substring(code, colon);
            string text = line.Substring(code + colon + 1).Trim();
            string place = line.Substring(0, at).Trim();
            int row = 0, column = 0;
            int open = place.Length - 1;
            while (open >= 0 && place[open] != '(')
                open--;
            if (open > 0 && place[place.Length - 1] == ')')
            {
                string inner = place.Substring(open + 1, place.Length - open - 2);
                int comma = inner.IndexOf(',');
                if (comma > 0 && Number(inner.Substring(0, comma), out row) && Number(inner.Substring(comma + 1), out column))
                    place = place.Substring(0, open);
            }
            if (Lists != null && Same(name, "WV0120") && IsKnown(place, row, column))
                return true;
            if (Same(kind, "error"))
                BuildEngine.LogErrorEvent(new BuildErrorEventArgs(null, name, place, row, column, 0, 0, text, null, "weave"));
            else if (Same(kind, "warning"))
                BuildEngine.LogWarningEvent(new BuildWarningEventArgs(null, name, place, row, column, 0, 0, text, null, "weave"));
            else if (!Same(ExitCode ?? "", ""))
                BuildEngine.LogMessageEvent(new BuildMessageEventArgs(string.Concat("weave: ", text), null, "weave", MessageImportance.High));
            return true;
        }

        void ReadUsed(string list)
        {
            if (!File.Exists(list))
                return;
            foreach (string line in File.ReadAllLines(list))
            {
                string[] parts = line.Split('\t');
                if (parts.Length > 3 && Same(parts[0], "own"))
                    Know(string.Concat(parts[1], "\t", parts[2], string.Concat("\t", parts[3])));
            }
        }

        /// <summary>Whether such a warning is needless: the aspect is used elsewhere, or was warned of.</summary>
        bool IsKnown(string file, int row, int column)
        {
            string at = string.Concat(file, "\t", row.ToString(CultureInfo.InvariantCulture),
                string.Concat("\t", column.ToString(CultureInfo.InvariantCulture)));
            foreach (string one in known)
            {
                if (Same(one, at))
                    return true;
            }
            Know(at);
            return false;
        }

        void Know(string at)
        {
            string[] more = new string[known.Length + 1];
            for (int i = 0; i < known.Length; i++)
                more[i] = known[i];
            more[known.Length] = at;
            known = more;
        }

        static bool Same(string a, string b)
        {
            return string.Equals(a, b, StringComparison.Ordinal);
        }

        static bool Number(string text, out int number)
        {
            long value;
            bool good = long.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out value) && value < int.MaxValue;
            number = good ? (int)value : 0;
            return good;
        }
    }
}
