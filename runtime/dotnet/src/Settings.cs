using System;
using System.Globalization;
using System.IO;

namespace Weave.Runtime
{
    /// <summary>
    /// What the user has set, as a property of the application (<c>weave.trace.limit</c>, in its runtimeconfig.json) or
    /// else in the environment (the same in capitals, <c>WEAVE_TRACE_LIMIT</c>).
    /// </summary>
    internal sealed class Settings
    {
        internal const int Ring = 0;
        internal const int Drop = 1;
        internal const int Block = 2;

        private const long DefaultLimit = 1L << 30;
        private const long DefaultPatience = 1000;

        internal readonly string Path;
        internal readonly long Limit;
        internal readonly int Policy;
        /// <summary>How long a thread waits for room under the policy <see cref="Block"/>, in milliseconds.</summary>
        internal readonly long Patience;
        /// <summary>The first setting that makes no sense, as a sentence, or null.</summary>
        internal string Complaint;

        internal Settings(long pid)
        {
            Path = ToPath(Get("weave.trace"), pid);
            Limit = ToLimit(Get("weave.trace.limit"));
            Policy = ToPolicy(Get("weave.trace.policy"));
            Patience = ToPatience(Get("weave.trace.block"));
        }

        /// <summary>All that is asked when tracing is off.</summary>
        internal static bool On()
        {
            return !Is(Get("weave.trace"), "off");
        }

        private static bool Is(string value, string word)
        {
            return string.Equals(value, word, StringComparison.OrdinalIgnoreCase);
        }

        private static string Get(string key)
        {
            try
            {
                var value = AppDomain.CurrentDomain.GetData(key) as string;
                if (value == null)
                {
                    value = Environment.GetEnvironmentVariable(key.ToUpperInvariant().Replace('.', '_'));
                }
                return string.IsNullOrEmpty(value) ? null : value;
            }
            catch (Exception)
            {
                return null;
            }
        }

        private static string ToPath(string value, long pid)
        {
            string number = pid.ToString(CultureInfo.InvariantCulture);
            string name = "weave-" + number + ".wtrace";
            if (value == null)
            {
                return System.IO.Path.GetFullPath(name);
            }
            string path = System.IO.Path.GetFullPath(value.Replace("%p", number));
            char end = value[value.Length - 1];
            bool folder = end == '/' || end == System.IO.Path.DirectorySeparatorChar || Directory.Exists(path);
            return folder ? System.IO.Path.Combine(path, name) : path;
        }

        private long ToLimit(string value)
        {
            if (value == null)
            {
                return DefaultLimit;
            }
            int shift = 10 * " kmg".IndexOf(char.ToLowerInvariant(value[value.Length - 1]));
            long number = ToNumber(shift > 0 ? value.Substring(0, value.Length - 1) : value);
            shift = Math.Max(shift, 0);
            if (number < 0 || number > long.MaxValue >> shift)
            {
                Complain("limit", value, "a size such as 512m", "1g");
                return DefaultLimit;
            }
            return number << shift;
        }

        private int ToPolicy(string value)
        {
            if (value == null || Is(value, "ring"))
            {
                return Ring;
            }
            if (Is(value, "drop"))
            {
                return Drop;
            }
            if (Is(value, "block"))
            {
                return Block;
            }
            Complain("policy", value, "ring, drop or block", "ring");
            return Ring;
        }

        private long ToPatience(string value)
        {
            if (value == null)
            {
                return DefaultPatience;
            }
            long number = ToNumber(value);
            if (number < 0 || number > int.MaxValue)
            {
                Complain("block", value, "a number of milliseconds", DefaultPatience.ToString(CultureInfo.InvariantCulture));
                return DefaultPatience;
            }
            return number;
        }

        /// <summary>A number that is not negative, else -1.</summary>
        private static long ToNumber(string digits)
        {
            long number;
            return long.TryParse(digits, NumberStyles.None, CultureInfo.InvariantCulture, out number) ? number : -1;
        }

        private void Complain(string key, string value, string expected, string used)
        {
            if (Complaint == null)
            {
                Complaint = "weave.trace." + key + ": \"" + value + "\" is not " + expected + "; " + used + " is used";
            }
        }
    }
}
