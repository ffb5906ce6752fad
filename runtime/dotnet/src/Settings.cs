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
        private const long LeastLimit = 1L << 20;
        /// <summary>The header and three chunks: symbols maps may have one of them, and two threads are recorded.</summary>
        private const long LeastOfUser = 4 * Format.Chunk;
        private const long DefaultPatience = 1000;
        /// <summary>The words for levels, in their order.</summary>
        internal static readonly string[] Levels = { "error", "info", "debug" };
        private const int Info = 1;
        private const long DefaultRate = 1000000;

        internal readonly string Path;
        /// <summary>The name of the file before its placeholders were filled in.</summary>
        internal readonly string Pattern;
        /// <summary>How many traces of the pattern are kept, this one included; 0 for all.</summary>
        internal readonly long Keep;
        /// <summary>Nobody has set a limit.</summary>
        internal readonly bool HasDefaultLimit;
        internal long Limit { get; private set; }
        /// <summary>Who set the limit, as the header has it.</summary>
        internal int LimitBy { get; private set; }
        /// <summary>What there is to say of the limit, or null.</summary>
        internal string LimitNote { get; private set; }
        internal readonly int Policy;
        /// <summary>How long a thread waits for room under the policy <see cref="Block"/>, in milliseconds.</summary>
        internal readonly long Patience;
        /// <summary>Milliseconds between two samples of what the process uses; 0 for none.</summary>
        internal readonly int Sample;
        /// <summary>The first setting that makes no sense, as a sentence, or null.</summary>
        internal string Complaint;

        internal Settings(long pid)
        {
            Path = ToPath(Get("weave.trace"), pid, out Pattern);
            Keep = ToKeep(Get("weave.trace.keep"));
            HasDefaultLimit = Get("weave.trace.limit") == null;
            Limit = ToLimit(Get("weave.trace.limit"));
            Policy = ToPolicy(Get("weave.trace.policy"));
            Patience = ToPatience(Get("weave.trace.block"));
            Sample = ToSample(Get("weave.trace.sample"));
        }

        /// <summary>Why no trace is to be written, as a sentence, or null.</summary>
        internal string Refusal()
        {
            return Posix.IsSpecial(Path) ? "no trace is written: " + Path
                + " is not a regular file; WEAVE_TRACE=off does without a trace and without this line" : null;
        }

        /// <summary>Where nobody has set a limit: what the disk and the container have room for.</summary>
        internal void LimitBySurroundings()
        {
            if (!HasDefaultLimit)
            {
                return;
            }
            string folder = System.IO.Path.GetDirectoryName(Path);
            while (folder != null && !Directory.Exists(folder))
            {
                folder = System.IO.Path.GetDirectoryName(folder);
            }
            LimitBy = 1;
            string why = "";
            long disk = Surroundings.HalfOfTheDisk(folder);
            if (disk < Limit)
            {
                Limit = disk;
                LimitBy = 2;
                why = "half of the free room of the file system";
            }
            long container = Surroundings.QuarterOfTheContainer(folder);
            if (container < Limit)
            {
                Limit = container;
                LimitBy = 3;
                why = "a quarter of the container's memory, in which the file system keeps the trace";
            }
            if (Limit < LeastLimit)
            {
                throw new IOException("there is room for " + Limit.ToString(CultureInfo.InvariantCulture) + " bytes (" + why + ")");
            }
            if (LimitBy > 1)
            {
                LimitNote = "the trace's limit is " + (Limit >> 20).ToString(CultureInfo.InvariantCulture) + " MiB: " + why
                    + " (WEAVE_TRACE_LIMIT sets another)";
            }
        }

        /// <summary>Aspects up to this level are on. For programs where something can be switched.</summary>
        internal static int StartingLevel()
        {
            return Level(Get("weave.level"), Info);
        }

        /// <summary>Records a second that the process may write, where it is to decide itself what it records; 0 for any number.</summary>
        internal static long Rate()
        {
            string value = Get("weave.trace.rate");
            long rate = value == null ? -1 : ToRate(value);
            return rate < 0 ? DefaultRate : rate;
        }

        /// <summary>-1 for what is none.</summary>
        private static long ToRate(string value)
        {
            if (Is(value, "off"))
            {
                return 0;
            }
            char last = value[value.Length - 1];
            long unit = last == 'k' || last == 'K' ? 1000 : last == 'm' || last == 'M' ? 1000000 : 1;
            long number = ToNumber(unit == 1 ? value : value.Substring(0, value.Length - 1));
            return number < 1 || number > int.MaxValue ? -1 : number * unit;
        }

        /// <summary>What draws of sampled calls begin with: in each process something else, unless it is set.</summary>
        internal static ulong Seed()
        {
            string value = Get("weave.trace.seed");
            long number = value == null ? -1 : ToNumber(value);
            if (number >= 0)
            {
                return (ulong)number;
            }
            ulong mixed = 0;
            foreach (byte b in RequestFile.NewNonce())
            {
                mixed = unchecked(mixed * 0x100000001B3 ^ b);
            }
            return mixed;
        }

        /// <summary>Which of these make no sense, as a sentence, or null.</summary>
        internal static string Complaints()
        {
            string level = Get("weave.level");
            string rate = Get("weave.trace.rate");
            if (level != null && Level(level, -1) < 0)
            {
                return "weave.level: \"" + level + "\" is not error, info or debug; " + Levels[Info] + " is used";
            }
            string seed = Get("weave.trace.seed");
            if (seed != null && ToNumber(seed) < 0)
            {
                return "weave.trace.seed: \"" + seed + "\" is not a number from 0 on; another in each process is used";
            }
            return rate == null || ToRate(rate) >= 0 ? null
                : "weave.trace.rate: \"" + rate + "\" is not off or a number of records a second, such as 500k; 1000000 is used";
        }

        /// <summary>The number of a level; <paramref name="other"/> if the word is none.</summary>
        internal static int Level(string word, int other)
        {
            for (int i = 0; i < Levels.Length; i++)
            {
                if (Is(word, Levels[i]))
                {
                    return i;
                }
            }
            return other;
        }

        /// <summary>All that is asked when tracing is off. Nobody looks for a trace of what a tool of the build ran.</summary>
        internal static bool On()
        {
            long error = LastError.Get();
            string trace = Get("weave.trace");
            bool on = trace == null ? !Host.IsDesignTool() : !Is(trace, "off");
            LastError.Set(error);
            return on;
        }

        /// <summary>Where lines of the library's go: null for the error stream, empty for nowhere, else a file.</summary>
        internal static string LogFile()
        {
            string value = Get("weave.log");
            return value == null || Is(value, "stderr") ? null
                : Is(value, "off") ? "" : System.IO.Path.GetFullPath(Fill(value, Host.Pid()));
        }

        internal static bool Is(string value, string word)
        {
            return string.Equals(value, word, StringComparison.OrdinalIgnoreCase);
        }

        /// <summary>Whether what a switch names is written: unless it is set, and to anything but on.</summary>
        internal static bool IsWritten(string key)
        {
            string value = Get(key);
            return value == null || Is(value, "on");
        }

        /// <summary>What the user masks, or null.</summary>
        internal static string Masks()
        {
            return Get("weave.trace.mask");
        }

        /// <summary>The propagators that OTEL_PROPAGATORS names, for this library as for OpenTelemetry's; or null.</summary>
        internal static string Propagators()
        {
            return Get("otel.propagators");
        }

        /// <summary>Which traces are recorded, in the same way; and a number of its own.</summary>
        internal static string Sampler()
        {
            return Get("otel.traces.sampler");
        }

        internal static string SamplerArgument()
        {
            return Get("otel.traces.sampler.arg");
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

        private static string ToPath(string value, long pid, out string pattern)
        {
            pattern = "weave-%p.wtrace";
            if (value == null)
            {
                return System.IO.Path.GetFullPath(Fill(pattern, pid));
            }
            string path = System.IO.Path.GetFullPath(Fill(value, pid));
            char end = value[value.Length - 1];
            if (end == '/' || end == System.IO.Path.DirectorySeparatorChar || Directory.Exists(path))
            {
                return System.IO.Path.Combine(path, Fill(pattern, pid));
            }
            pattern = System.IO.Path.GetFileName(value);
            return path;
        }

        /// <summary>Fills the placeholders in: %p the process, %t the time, %h the host, %% a percent sign.</summary>
        private static string Fill(string value, long pid)
        {
            var filled = "";
            for (int i = 0; i < value.Length; i++)
            {
                char c = value[i];
                string with = null;
                if (c == '%' && i + 1 < value.Length)
                {
                    switch (value[i + 1])
                    {
                        case 'p': with = pid.ToString(CultureInfo.InvariantCulture); break;
                        case 't': with = Time(DateTime.UtcNow); break;
                        case 'h': with = Plain(Environment.MachineName); break;
                        case '%': with = "%"; break;
                    }
                }
                if (with != null)
                {
                    i++;
                }
                filled += with ?? c.ToString();
            }
            return filled;
        }

        /// <summary>As yyyyMMdd-HHmmss. By hand: formats of times, with all of time zones, weigh 350 KB in a native program.</summary>
        private static string Time(DateTime time)
        {
            return Digits(time.Year, 4) + Digits(time.Month, 2) + Digits(time.Day, 2) + "-"
                + Digits(time.Hour, 2) + Digits(time.Minute, 2) + Digits(time.Second, 2);
        }

        private static string Digits(int number, int count)
        {
            string digits = number.ToString(CultureInfo.InvariantCulture);
            while (digits.Length < count)
            {
                digits = "0" + digits;
            }
            return digits;
        }

        private static string Plain(string name)
        {
            var plain = "";
            for (int i = 0; i < name.Length; i++)
            {
                char c = name[i];
                bool keep = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '-' || c == '_';
                plain += keep ? c.ToString() : "_";
            }
            return plain;
        }

        /// <summary>Whether a file's name is one that the pattern makes, for any process, also with a number behind it.</summary>
        internal static bool Fits(string pattern, string name)
        {
            const string Ending = ".wtrace";
            if (Fits(pattern, 0, name, 0))
            {
                return true;
            }
            string ending = pattern.EndsWith(Ending, StringComparison.Ordinal) ? Ending : "";
            if (!name.EndsWith(ending, StringComparison.Ordinal))
            {
                return false;
            }
            int end = name.Length - ending.Length;
            int at = end;
            while (at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9')
            {
                at--;
            }
            return at < end && at > 1 && name[at - 1] == '-' && Fits(pattern, 0, name.Substring(0, at - 1) + ending, 0);
        }

        private static bool Fits(string pattern, int p, string name, int n)
        {
            for (; p < pattern.Length; p++, n++)
            {
                if (pattern[p] == '%' && p + 1 < pattern.Length)
                {
                    char what = pattern[p + 1];
                    if (what == 'p' || what == 't' || what == 'h')
                    {
                        for (int to = n + 1; to <= name.Length && Fills(what, name[to - 1]); to++)
                        {
                            if (Fits(pattern, p + 2, name, to))
                            {
                                return true;
                            }
                        }
                        return false;
                    }
                    if (what == '%')
                    {
                        p++;
                    }
                }
                if (n >= name.Length || pattern[p] != name[n])
                {
                    return false;
                }
            }
            return n == name.Length;
        }

        /// <summary>Whether a placeholder may become this character.</summary>
        private static bool Fills(char what, char c)
        {
            bool digit = c >= '0' && c <= '9';
            return digit || what == 't' && c == '-' || what == 'h' && Plain(c.ToString())[0] == c;
        }

        private long ToKeep(string value)
        {
            if (value == null)
            {
                return 0;
            }
            long number = ToNumber(value);
            if (number < 1)
            {
                Complain("keep", value, "not a number of traces", "all");
                return 0;
            }
            return number;
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
                Complain("limit", value, "not a size such as 512m", "1g");
                return DefaultLimit;
            }
            if (number << shift < LeastOfUser)
            {
                Complain("limit", value, "below the least, 256k", "256k");
                return LeastOfUser;
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
            Complain("policy", value, "not ring, drop or block", "ring");
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
                Complain("block", value, "not a number of milliseconds", DefaultPatience.ToString(CultureInfo.InvariantCulture));
                return DefaultPatience;
            }
            return number;
        }

        private int ToSample(string value)
        {
            const int Usual = 1000;
            long number = value == null ? Usual : Is(value, "off") ? 0 : ToNumber(value);
            if (number < 0 || number > int.MaxValue)
            {
                Complain("sample", value, "not off or a number of milliseconds", Usual.ToString(CultureInfo.InvariantCulture));
                return Usual;
            }
            return (int)number;
        }

        /// <summary>A number that is not negative, else -1.</summary>
        private static long ToNumber(string digits)
        {
            long number;
            return long.TryParse(digits, NumberStyles.None, CultureInfo.InvariantCulture, out number) ? number : -1;
        }

        private void Complain(string key, string value, string fault, string used)
        {
            if (Complaint == null)
            {
                Complaint = "weave.trace." + key + ": \"" + value + "\" is " + fault + "; " + used + " is used";
            }
        }
    }
}
