using System;
using System.Collections.Generic;
using System.Globalization;
using System.Text;
using System.Threading;

namespace Weave.Runtime
{
    /// <summary>
    /// What is switched while the program runs: what <c>weave control</c> asks for lies in a file beside the trace, which the
    /// supplier's thread looks at. What it switched goes into the trace, in chunks that stay.
    /// </summary>
    internal sealed unsafe class Control : Companion
    {
        /// <summary>The longest until a request is seen, in milliseconds; and that soon after another.</summary>
        private const int Often = 500;
        private const int VeryOften = 20;
        private const long Soon = 10000000000;
        private const long Millisecond = 1000000;

        private const string AsTheRulesSay = "rules";
        private const string Auto = "auto";
        /// <summary>The most methods that can be switched.</summary>
        private const int MostMethods = 1 << PlaceBits;
        private const int PlaceBits = 22;
        /// <summary>So many chunks may tell of changes, and so many of these of what is decided.</summary>
        private const int MostChunks = 32;
        private const int MostDecided = 16;
        /// <summary>The most bytes of an entry with words.</summary>
        private const int MostWords = 2000;
        /// <summary>Words at a chunk's end that are kept for the entry about changes that found no room.</summary>
        private const int RestWords = 2 + 3;
        /// <summary>Kinds of entries: what is on; methods that are summed up, and that are only counted; that this is taken back; methods that are left out; changes that found no room.</summary>
        private const int State = 0;
        private const int Summed = 1;
        private const int Counted = 2;
        private const int Again = 3;
        private const int Left = 4;
        private const int More = 5;
        /// <summary>So many methods are told in one.</summary>
        private const int MostTold = 4096;
        /// <summary>In microseconds, where the rules do not say it.</summary>
        private const int UsualSlowerThan = 1000;

        private readonly Store store;
        private readonly RequestFile file;
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
        /// <summary>The request that was taken last, if there is one.</summary>
        private uint number;
        private bool hasTaken;

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
        /// <summary>Where in the chunk the entry about further changes is; 0 for none. What it says: how many, the time of the last, how long all was off.</summary>
        private int more;
        private long changes;
        private long since;
        private long offFor;
        private bool wasOff;
        private volatile bool ended;

        internal Control(Store store)
        {
            this.store = store;
            file = new RequestFile(store.Path, store.Nonce);
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
                        for (int j = 0; j < row.By.Length; j++)
                        {
                            if (row.By[j].Overhead > 0)
                            {
                                budget.Allow(row.By[j].Overhead);
                            }
                        }
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
                    file.Open();
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
                if (ended)
                {
                    return;
                }
                long now = Clock.Now();
                if (now >= looks)
                {
                    Look();
                    looks = now + (hasTaken && now - taken < Soon ? VeryOften : Often) * Millisecond;
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
            byte[] bytes = file.Read();
            if (bytes == null || Same(bytes, seen))
            {
                return;
            }
            seen = bytes;
            Request request = Request.Of(bytes, Digits(store.Pid) + " " + Digits(store.WallClock), file.Nonce);
            if (request == null || !request.IsAfter(number))
            {
                return; // nothing of it is done
            }
            level = request.Level < 0 ? level : request.Level;
            mode = request.Mode;
            enabled = request.Enabled;
            disabled = request.Disabled;
            bool again = request.Reset;
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
            number = request.Number;
            hasTaken = true;
            store.Header.SetRequest(number);
        }

        private static string Digits(long n)
        {
            return n.ToString(CultureInfo.InvariantCulture);
        }

        internal static bool Same(byte[] a, byte[] b)
        {
            bool same = a.Length == b.Length;
            for (int i = 0; same && i < a.Length; i++)
            {
                same = a[i] == b[i];
            }
            return same;
        }

        private bool IsOn(Aspect[] by)
        {
            for (int i = 0; i < by.Length; i++)
            {
                if (!Request.Has(disabled, by[i].Name) && (by[i].Level <= level || Request.Has(enabled, by[i].Name)))
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
            int left = Names(text, "enable ", enabled) + Names(text, "disable ", disabled);
            if (left > 0)
            {
                text.Append("more ").Append(Digits(left)).Append("\n");
            }
            byte[] bytes = Encoding.UTF8.GetBytes(text.ToString());
            if (Note(State, bytes, bytes.Length))
            {
                more = 0;
            }
            else
            {
                NoteMore();
            }
            wasOff = mode == "off";
        }

        /// <summary>Adds as many names as an entry takes; how many are left out.</summary>
        private static int Names(StringBuilder text, string word, List<string> names)
        {
            int left = 0;
            for (int i = 0; i < names.Count; i++)
            {
                // A character is three bytes at most.
                if (3 * (text.Length + word.Length + names[i].Length) < MostWords)
                {
                    text.Append(word).Append(names[i]).Append("\n");
                }
                else
                {
                    left++;
                }
            }
            return left;
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

        /// <summary>Adds an entry of what kind it is; false if there is no room.</summary>
        private bool Note(int kind, byte[] bytes, int length)
        {
            int words = (length + 7) / 8;
            // One word stays: zero ends the entries.
            if (chunk == null || at + 2 + words + RestWords >= Format.ChunkWords)
            {
                bool decided = kind != State && kind != Again;
                if (Format.ChunkHeadWords + 2 + words + RestWords >= Format.ChunkWords || chunks >= (decided ? MostDecided : MostChunks))
                {
                    return false;
                }
                long* next = store.Kept(Format.Control, chunks);
                if (next == null)
                {
                    return false;
                }
                chunk = next;
                chunks++;
                at = Format.ChunkHeadWords;
                more = 0;
            }
            var data = (byte*)(chunk + at + 2);
            for (int i = 0; i < length; i++)
            {
                data[i] = bytes[i];
            }
            Finish(at, kind, length);
            at += 2 + words;
            return true;
        }

        /// <summary>There was no room for what is on from now: one entry says how often that was, and how long all was off.</summary>
        private void NoteMore()
        {
            if (chunk == null)
            {
                return;
            }
            long now = Clock.Now();
            bool first = more == 0;
            if (first)
            {
                more = at;
                changes = 0;
                offFor = 0;
                at += RestWords;
            }
            else if (wasOff)
            {
                offFor += now - since;
            }
            since = now;
            chunk[more + 2] = ++changes << 1 | (mode == "off" ? 1L : 0);
            chunk[more + 3] = now;
            chunk[more + 4] = offFor;
            if (first)
            {
                Finish(more, More, 24);
            }
        }

        private void Finish(int place, int kind, int length)
        {
            chunk[place + 1] = Clock.Now();
            Volatile.Write(ref chunk[place], (long)kind << 32 | (long)(uint)length); // who sees it sees the rest
        }

        /// <summary>What is applied by now is also told: this waits for a turn that is under way.</summary>
        internal override void End()
        {
            bool held = gate.Enter();
            ended = true;
            if (held)
            {
                gate.Leave();
            }
            if (hasTaken)
            {
                file.Delete();
            }
        }
    }
}
