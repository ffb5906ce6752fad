using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Text;
using System.Threading;

namespace Weave.Runtime
{
    /// <summary>
    /// What is switched while the program runs: what <c>weave control</c> asks for lies in a file beside the trace, which the
    /// supplier's thread looks at. What came of it goes into the trace, in chunks that stay.
    /// </summary>
    internal sealed unsafe class Control : Companion
    {
        /// <summary>The longest until a request is seen, in milliseconds; and that soon after another.</summary>
        private const int Often = 500;
        private const int VeryOften = 20;
        private const long Soon = 10000000000;
        private const long Millisecond = 1000000;
        private const string Suffix = ".control";

        private const string HeadLine = "weave control 1";
        private const string AsTheRulesSay = "rules";
        private const string Auto = "auto";
        private const int Most = 60000;
        /// <summary>The most methods that can be switched.</summary>
        private const int MostMethods = 1 << PlaceBits;
        private const int PlaceBits = 22;
        /// <summary>So many chunks may tell of changes.</summary>
        private const int MostChunks = 16;
        /// <summary>Kinds of entries: what is on; methods that are summed up, and that are only counted; that this is taken back; methods that are left out.</summary>
        private const int State = 0;
        private const int Summed = 1;
        private const int Counted = 2;
        private const int Again = 3;
        private const int Left = 4;
        /// <summary>So many methods are told in one.</summary>
        private const int MostTold = 4096;
        /// <summary>In microseconds, where the rules do not say it.</summary>
        private const int UsualSlowerThan = 1000;

        private readonly Store store;
        private readonly Gate gate = new Gate();
        private readonly List<Row> rows = new List<Row>();
        /// <summary>Their first ids, ascending, and below each its place in the list.</summary>
        private long[] order = new long[0];
        private int methods;
        private readonly Budget budget;
        /// <summary>Methods are left to it.</summary>
        private bool budgeted;
        /// <summary>Methods with their modes, for <see cref="Modes.Use"/>.</summary>
        private long[] modes = new long[0];
        private byte[] seen = new byte[0];
        private int number;

        private int level = Modes.Level;
        private string mode = AsTheRulesSay;
        private List<string> enabled = new List<string>();
        private List<string> disabled = new List<string>();

        /// <summary>When a request was taken last; and when the next is looked for, and what the budget has to say.</summary>
        private long taken;
        private long looks;
        private long budgets;

        private long* chunk;
        private int chunks;
        private int at;

        internal Control(Store store)
        {
            this.store = store;
            budget = new Budget(store);
        }

        internal override int Pause
        {
            get
            {
                return rows.Count == 0 ? -1 : (int)Math.Max(1, ((budgeted ? Math.Min(looks, budgets) : looks) - Clock.Now()) / Millisecond);
            }
        }

        internal override void Add(byte[] map)
        {
            var switches = new Switches();
            switches.Read(map);
            if (switches.Rows.Count == 0)
            {
                return;
            }
            Enter();
            bool first = rows.Count == 0;
            try
            {
                if (first)
                {
                    Log.Say(Settings.Complaints());
                }
                for (int i = 0; i < switches.Rows.Count; i++)
                {
                    Row row = switches.Rows[i];
                    if (row.Count > 0 && row.Count <= MostMethods - methods)
                    {
                        rows.Add(row);
                        methods += row.Count;
                    }
                }
                var firsts = new List<long>();
                for (int i = 0; i < rows.Count; i++)
                {
                    firsts.Add((long)(uint)rows[i].First << PlaceBits | (long)i);
                }
                order = Budget.Sorted(firsts);
                Apply();
                if (first)
                {
                    Note(); // what it began with
                }
            }
            finally
            {
                gate.Leave();
            }
            if (first)
            {
                store.Wake();
            }
        }

        /// <summary>Nobody holds the gate for long.</summary>
        private void Enter()
        {
            while (!gate.Enter())
            {
                Thread.Sleep(1);
            }
        }

        internal override void Turn()
        {
            if (rows.Count == 0 || !gate.Enter())
            {
                return;
            }
            try
            {
                long now = Clock.Now();
                if (now >= looks)
                {
                    Look();
                    looks = now + (number > 0 && now - taken < Soon ? VeryOften : Often) * Millisecond;
                }
                if (budgeted && now >= budgets)
                {
                    budgets = now + Budget.Interval * Millisecond;
                    List<int> summed;
                    List<int> pieces;
                    budget.SumUp(this, now, out summed, out pieces);
                    List<int> counted;
                    List<int> left;
                    budget.Lighten(this, now, out counted, out left);
                    if (summed != null || pieces != null || counted != null || left != null)
                    {
                        Apply();
                        Note(Summed, summed);
                        Note(Counted, pieces);
                        Note(Counted, counted);
                        Note(Left, left);
                    }
                }
            }
            finally
            {
                gate.Leave();
            }
        }

        /// <summary>Takes a request if there is a new one.</summary>
        private void Look()
        {
            byte[] bytes = Read();
            if (bytes == null || Same(bytes, seen))
            {
                return;
            }
            seen = bytes;
            string[] lines = Encoding.UTF8.GetString(bytes, 0, bytes.Length).Split('\n');
            long next;
            string digits;
            if (lines.Length < 3 || lines[0] != HeadLine || lines[1] != "to " + Digits(store.Pid) + " " + Digits(store.WallClock)
                || !Rest(lines[2], "number ", out digits) || !long.TryParse(digits, NumberStyles.None, CultureInfo.InvariantCulture, out next)
                || next > int.MaxValue || next <= number)
            {
                return; // of an earlier run, of a later version, or known
            }
            mode = AsTheRulesSay;
            enabled = new List<string>();
            disabled = new List<string>();
            bool again = false;
            for (int i = 3; i < lines.Length; i++)
            {
                string rest;
                if (Rest(lines[i], "level ", out rest))
                {
                    level = Settings.Level(rest, level);
                }
                else if (Rest(lines[i], "mode ", out rest))
                {
                    mode = rest;
                }
                else if (Rest(lines[i], "enable ", out rest))
                {
                    Add(enabled, rest);
                }
                else if (Rest(lines[i], "disable ", out rest))
                {
                    Add(disabled, rest);
                }
                again |= lines[i] == "reset";
            }
            if (again)
            {
                budget.Reset();
            }
            Apply();
            Note();
            if (again)
            {
                Note(Again, null, 0);
            }
            taken = Clock.Now();
            number = (int)next;
            store.Header.SetRequest(number);
        }

        private static string Digits(long n)
        {
            return n.ToString(CultureInfo.InvariantCulture);
        }

        private static bool Rest(string line, string word, out string rest)
        {
            bool starts = line.StartsWith(word, StringComparison.Ordinal);
            rest = starts ? line.Substring(word.Length) : null;
            return starts;
        }

        private static bool Same(byte[] a, byte[] b)
        {
            bool same = a.Length == b.Length;
            for (int i = 0; same && i < a.Length; i++)
            {
                same = a[i] == b[i];
            }
            return same;
        }

        private static bool Has(List<string> names, string name)
        {
            for (int i = 0; i < names.Count; i++)
            {
                if (names[i] == name)
                {
                    return true;
                }
            }
            return false;
        }

        private static void Add(List<string> names, string name)
        {
            if (!Has(names, name))
            {
                names.Add(name);
            }
        }

        /// <summary>The file with the request, or null.</summary>
        private byte[] Read()
        {
            try
            {
                if (!File.Exists(store.Path + Suffix))
                {
                    return null;
                }
                var room = new byte[Most + 1];
                int length = SystemFile.Read(store.Path + Suffix, room);
                if (length == 0 || length > Most)
                {
                    return null;
                }
                var bytes = new byte[length];
                Array.Copy(room, bytes, length);
                return bytes;
            }
            catch (Exception) // it is gone
            {
                return null;
            }
        }

        private bool IsOn(Aspect[] by)
        {
            for (int i = 0; i < by.Length; i++)
            {
                if (!Has(disabled, by[i].Name) && (by[i].Level <= level || Has(enabled, by[i].Name)))
                {
                    return true;
                }
            }
            return false;
        }

        /// <summary>Whether the budget decides about methods.</summary>
        private bool IsBudgeted(Row row)
        {
            bool auto = true;
            for (int i = 0; i < row.By.Length; i++)
            {
                auto &= row.By[i].Auto;
            }
            return budget.IsOn && (mode == Auto || auto && Mode(mode) == Modes.Rules);
        }

        /// <summary>Of a method that is on and left to the budget: calls that are shorter need not be in the trace one by one. Microseconds; else -1.</summary>
        internal int SlowerThan(int id)
        {
            int low = 0;
            int high = order.Length;
            while (low < high)
            {
                int middle = (low + high) / 2;
                if ((uint)(order[middle] >> PlaceBits) <= (uint)id)
                {
                    low = middle + 1;
                }
                else
                {
                    high = middle;
                }
            }
            Row row = low == 0 ? null : rows[(int)order[low - 1] & (MostMethods - 1)];
            if (row == null || unchecked((uint)(id - row.First)) >= (uint)row.Count || !IsBudgeted(row) || !IsOn(row.By))
            {
                return -1;
            }
            int least = UsualSlowerThan;
            for (int i = 0; i < row.By.Length; i++)
            {
                least = row.By[i].Auto && (i == 0 || row.By[i].SlowerThan < least) ? row.By[i].SlowerThan : least;
            }
            return least;
        }

        /// <summary>Has hooks do what is on from now.</summary>
        private void Apply()
        {
            int usual = Mode(mode);
            budgeted = false;
            if (modes.Length < methods)
            {
                modes = new long[Math.Max(methods, 2 * modes.Length)];
            }
            int n = 0;
            for (int i = 0; i < rows.Count; i++)
            {
                Row row = rows[i];
                int now = IsOn(row.By) ? usual : Modes.Off;
                bool auto = now != Modes.Off && IsBudgeted(row);
                budgeted |= auto;
                for (int j = 0; j < row.Count; j++)
                {
                    int id = unchecked(row.First + j);
                    int here = auto && !budget.IsEmpty ? budget.Mode(id) : Modes.Unknown;
                    modes[n++] = (long)(here == Modes.Unknown ? now : here) << 32 | (long)(uint)id;
                }
            }
            Modes.Level = level;
            Modes.Usual = usual;
            Modes.Use(modes, n);
        }

        private static int Mode(string word)
        {
            switch (word)
            {
                case "off":
                    return Modes.Off;
                case "count":
                    return Modes.Count;
                case "aggregate":
                    return Modes.Aggregate;
                case "record":
                    return Modes.Record;
                case Auto:
                    return Modes.Auto;
                default:
                    return Modes.Rules;
            }
        }

        /// <summary>Says in the trace what is on from now.</summary>
        private void Note()
        {
            var text = new StringBuilder();
            text.Append("level ").Append(Settings.Levels[level]).Append("\nmode ").Append(mode).Append("\n");
            for (int i = 0; i < enabled.Count; i++)
            {
                text.Append("enable ").Append(enabled[i]).Append("\n");
            }
            for (int i = 0; i < disabled.Count; i++)
            {
                text.Append("disable ").Append(disabled[i]).Append("\n");
            }
            byte[] bytes = Encoding.UTF8.GetBytes(text.ToString());
            Note(State, bytes, bytes.Length);
        }

        /// <summary>Says what was decided of methods.</summary>
        private void Note(int kind, List<int> decided)
        {
            var ids = new List<long>();
            for (int i = 0; decided != null && i < decided.Count; i++)
            {
                ids.Add((uint)decided[i]);
            }
            long[] sorted = Budget.Sorted(ids);
            for (int from = 0; from < sorted.Length; from += MostTold)
            {
                int told = Math.Min(MostTold, sorted.Length - from);
                var bytes = new byte[4 * told];
                for (int i = 0; i < bytes.Length; i++)
                {
                    bytes[i] = (byte)(sorted[from + i / 4] >> 8 * (i % 4));
                }
                Note(kind, bytes, bytes.Length);
            }
        }

        /// <summary>Adds an entry of what kind it is.</summary>
        private void Note(int kind, byte[] bytes, int length)
        {
            int words = (length + 7) / 8;
            // One word stays: zero ends the entries.
            if (chunk == null || at + 2 + words >= Format.ChunkWords)
            {
                long* next = chunks == MostChunks ? null : store.Kept(Format.Control, chunks);
                if (next == null)
                {
                    return;
                }
                chunk = next;
                chunks++;
                at = Format.ChunkHeadWords;
            }
            var data = (byte*)(chunk + at + 2);
            for (int i = 0; i < length; i++)
            {
                data[i] = bytes[i];
            }
            chunk[at + 1] = Clock.Now();
            Volatile.Write(ref chunk[at], (long)kind << 32 | (long)(uint)length); // who sees it sees the rest
            at += 2 + words;
        }

        internal override void End()
        {
            if (number > 0)
            {
                File.Delete(store.Path + Suffix);
            }
        }
    }
}
