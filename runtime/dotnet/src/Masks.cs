using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Globalization;
using System.Text;

namespace Weave.Runtime
{
    /// <summary>
    /// Compiles masks as rules write them to the table that <see cref="Mask"/> walks: a text in which <c>*</c> stands for what is no blank,
    /// or <c>re:</c> and a regular expression. What it takes of expressions means the same as in rules; anything else is refused.
    /// </summary>
    [DebuggerStepThrough]
    internal sealed class Masks
    {
        private const int MostStates = 1000;
        private const int MostNodes = 4000;
        private const int Deepest = 50;
        /// <summary>The units of ASCII, and all others as one.</summary>
        private const int Units = 129;
        private const string Blanks = "\t\n\u000b\f\r ";

        /// <summary>A table that masks every text.</summary>
        internal static readonly string All = Of("re:(?s).+");

        private readonly string text;
        private int at;
        private int depth;
        private bool anyCase;
        private bool dotIsAll;

        /// <summary>The nodes of the automaton: the units that lead from one to the next, or null where two ways go on; 0 is the end.</summary>
        private readonly List<bool[]> sets = new List<bool[]>();
        private readonly List<int[]> ways = new List<int[]>();

        private Masks(string text)
        {
            this.text = text;
            Node(null, 0, 0);
        }

        /// <summary>What is wrong with a mask.</summary>
        internal sealed class Wrong : Exception
        {
            internal readonly string Fault;

            internal Wrong(string fault)
            {
                Fault = fault;
            }
        }

        /// <summary>The table of all masks in a setting, which <c>;</c> separates; <c>\;</c> is one.</summary>
        internal static string Of(string setting)
        {
            var all = new Masks("");
            int start = 0;
            List<string> masks = Split(setting);
            for (int i = 0; i < masks.Count; i++)
            {
                try
                {
                    int own = all.Put(new Masks(masks[i]).Parse(), 0);
                    if (all.Reaches(own))
                    {
                        throw new Wrong("it matches the empty text");
                    }
                    start = i == 0 ? own : all.Node(null, own, start);
                }
                catch (Wrong wrong)
                {
                    throw new Wrong("mask " + (i + 1).ToString(CultureInfo.InvariantCulture) + ": " + wrong.Fault);
                }
            }
            return all.Table(start);
        }

        private static List<string> Split(string setting)
        {
            var masks = new List<string>();
            var mask = new StringBuilder();
            for (int i = 0; i <= setting.Length; i++)
            {
                char c = i < setting.Length ? setting[i] : ';';
                if (c == ';')
                {
                    masks.Add(mask.ToString().Trim());
                    mask = new StringBuilder();
                }
                else if (c == '\\' && i + 1 < setting.Length && setting[i + 1] == ';')
                {
                    mask.Append(";");
                    i++;
                }
                else
                {
                    mask.Append(c.ToString());
                }
            }
            while (masks.Count > 1 && masks[masks.Count - 1].Length == 0)
            {
                masks.RemoveAt(masks.Count - 1);
            }
            return masks;
        }

        /// <summary>A part of an expression: units, or other parts: in a row, as alternatives, or repeated.</summary>
        private sealed class Part
        {
            internal bool[] Units;
            internal readonly List<Part> Parts = new List<Part>();
            internal bool IsChoice;
            internal int Least = 1;
            internal int Most = 1;
        }

        private Part Parse()
        {
            for (int i = 0; i < text.Length; i++)
            {
                if (text[i] > 127)
                {
                    throw new Wrong("a mask is of ASCII characters");
                }
            }
            if (text.StartsWith("re:", StringComparison.Ordinal))
            {
                at = 3;
                Part expression = Choice();
                if (at < text.Length)
                {
                    throw NotUnderstood();
                }
                return expression;
            }
            var all = new Part();
            for (int i = 0; i < text.Length; i++)
            {
                char c = text[i];
                all.Parts.Add(new Part
                {
                    Units = c == '*' ? Not(These(Blanks, false)) : These(c.ToString(), false),
                    Least = c == '*' ? 0 : 1,
                    Most = c == '*' ? -1 : 1,
                });
            }
            return all;
        }

        private Wrong NotUnderstood()
        {
            return new Wrong("character " + (at + 1).ToString(CultureInfo.InvariantCulture) + " is not understood");
        }

        private bool Is(char c)
        {
            return at < text.Length && text[at] == c;
        }

        private bool Eat(string what)
        {
            for (int i = 0; i < what.Length; i++)
            {
                if (at + i >= text.Length || text[at + i] != what[i])
                {
                    return false;
                }
            }
            at += what.Length;
            return true;
        }

        private Part Choice()
        {
            if (depth++ > Deepest)
            {
                throw NotUnderstood();
            }
            bool wasAnyCase = anyCase;
            bool wasAll = dotIsAll;
            var all = new Part { IsChoice = true };
            do
            {
                var row = new Part();
                while (at < text.Length && !Is('|') && !Is(')'))
                {
                    Part part = Atom();
                    row.Parts.Add(part == null ? new Part() : Again(part));
                }
                all.Parts.Add(row);
            }
            while (Eat("|"));
            anyCase = wasAnyCase;
            dotIsAll = wasAll;
            depth--;
            return all;
        }

        /// <summary>A part and how often it comes.</summary>
        private Part Again(Part part)
        {
            for (;;)
            {
                int least;
                int most = -1;
                if (Eat("*"))
                {
                    least = 0;
                }
                else if (Eat("+"))
                {
                    least = 1;
                }
                else if (Eat("?"))
                {
                    least = 0;
                    most = 1;
                }
                else if (Eat("{"))
                {
                    least = Number();
                    most = Eat(",") ? Is('}') ? -1 : Number() : least;
                    if (!Eat("}") || (most >= 0 && most < least))
                    {
                        throw NotUnderstood();
                    }
                }
                else
                {
                    return part;
                }
                Eat("?"); // the longest match counts, whatever comes first
                var more = new Part { Least = least, Most = most };
                more.Parts.Add(part);
                part = more;
            }
        }

        private int Number()
        {
            int from = at;
            int number = 0;
            while (at < text.Length && text[at] >= '0' && text[at] <= '9' && at - from <= 4)
            {
                number = 10 * number + text[at++] - '0';
            }
            if (at == from || at - from > 4)
            {
                throw NotUnderstood();
            }
            return number;
        }

        /// <summary>A unit, a class or a group; null for what stands for nothing.</summary>
        private Part Atom()
        {
            var part = new Part();
            if (Eat("("))
            {
                bool wasAnyCase = anyCase;
                bool wasAll = dotIsAll;
                if (Eat("?"))
                {
                    bool on = true;
                    while (!Is(':') && !Is(')'))
                    {
                        if (Eat("-"))
                        {
                            on = false;
                        }
                        else if (Eat("i"))
                        {
                            anyCase = on;
                        }
                        else if (Eat("s"))
                        {
                            dotIsAll = on;
                        }
                        else
                        {
                            throw NotUnderstood();
                        }
                    }
                    if (Eat(")"))
                    {
                        return null; // it holds up to the end of the group around it
                    }
                    Eat(":");
                }
                part.Parts.Add(Choice());
                anyCase = wasAnyCase;
                dotIsAll = wasAll;
                if (!Eat(")"))
                {
                    throw NotUnderstood();
                }
            }
            else if (Eat("["))
            {
                part.Units = InBrackets();
            }
            else if (Eat("."))
            {
                part.Units = Not(dotIsAll ? new bool[Units] : These("\n", false));
            }
            else if (Is('\\'))
            {
                part.Units = Escaped();
            }
            else if ("^$*+?{".IndexOf(text[at]) >= 0)
            {
                throw NotUnderstood();
            }
            else
            {
                part.Units = These(text[at++].ToString(), anyCase);
            }
            return part;
        }

        private bool[] InBrackets()
        {
            bool isNot = Eat("^");
            var all = new bool[Units];
            bool first = true;
            while (first || !Is(']'))
            {
                first = false;
                if (at >= text.Length || Is('[') || Eat("&&") || Eat("--") || Eat("~~"))
                {
                    throw NotUnderstood();
                }
                int from = at;
                bool[] some = Is('\\') ? Escaped() : These(text[at++].ToString(), anyCase);
                if (Is('-') && at + 1 < text.Length && text[at + 1] != ']')
                {
                    int low = One(from, at);
                    int last = ++at;
                    if (Is('\\'))
                    {
                        Escaped();
                    }
                    else
                    {
                        at++;
                    }
                    int high = One(last, at);
                    if (low < 0 || high < low)
                    {
                        throw NotUnderstood();
                    }
                    for (int unit = low; unit <= high; unit++)
                    {
                        Add(some, These(((char)unit).ToString(), anyCase));
                    }
                }
                Add(all, some);
            }
            at++;
            return isNot ? Not(all) : all;
        }

        /// <summary>The one unit that is written there, or -1.</summary>
        private int One(int from, int to)
        {
            if (text[from] != '\\')
            {
                return text[from];
            }
            bool[] units = new Masks(text.Substring(from, to - from)).Escaped();
            int found = -1;
            for (int unit = 0; unit < Units; unit++)
            {
                if (units[unit])
                {
                    if (found >= 0)
                    {
                        return -1;
                    }
                    found = unit;
                }
            }
            return found;
        }

        private bool[] Escaped()
        {
            at++;
            if (at >= text.Length)
            {
                throw NotUnderstood();
            }
            char c = text[at++];
            switch (c)
            {
                case 'd':
                case 'D':
                    return Either(Range('0', '9'), c == 'D');
                case 's':
                case 'S':
                    return Either(These(Blanks, false), c == 'S');
                case 'w':
                case 'W':
                    bool[] word = These("_", false);
                    Add(word, Range('0', '9'));
                    Add(word, Range('a', 'z'));
                    Add(word, Range('A', 'Z'));
                    return Either(word, c == 'W');
                case 'n':
                    return These("\n", false);
                case 'r':
                    return These("\r", false);
                case 't':
                    return These("\t", false);
                case 'x':
                    int high = at + 2 <= text.Length ? Digit(text[at]) : -1;
                    int low = high < 0 ? -1 : Digit(text[at + 1]);
                    if (high < 0 || low < 0 || high > 7)
                    {
                        throw NotUnderstood();
                    }
                    at += 2;
                    return These(((char)(16 * high + low)).ToString(), anyCase);
                default:
                    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '<' || c == '>')
                    {
                        at--;
                        throw NotUnderstood();
                    }
                    return These(c.ToString(), false);
            }
        }

        private static int Digit(char c)
        {
            return "0123456789abcdef".IndexOf(char.ToLowerInvariant(c));
        }

        private static bool[] Range(char from, char to)
        {
            var units = new bool[Units];
            for (int unit = from; unit <= to; unit++)
            {
                units[unit] = true;
            }
            return units;
        }

        private static bool[] These(string units, bool anyCase)
        {
            var all = new bool[Units];
            for (int i = 0; i < units.Length; i++)
            {
                char unit = units[i];
                all[unit] = true;
                int lower = unit | 0x20;
                if (anyCase && lower >= 'a' && lower <= 'z')
                {
                    all[lower] = true;
                    all[lower & ~0x20] = true;
                }
            }
            return all;
        }

        private static void Add(bool[] all, bool[] more)
        {
            for (int unit = 0; unit < Units; unit++)
            {
                all[unit] |= more[unit];
            }
        }

        private static bool[] Not(bool[] units)
        {
            var others = new bool[Units];
            for (int unit = 0; unit < Units; unit++)
            {
                others[unit] = !units[unit];
            }
            return others;
        }

        private static bool[] Either(bool[] units, bool isNot)
        {
            return isNot ? Not(units) : units;
        }

        private int Node(bool[] units, int next, int other)
        {
            if (sets.Count == MostNodes)
            {
                throw new Wrong("it takes too many states");
            }
            sets.Add(units);
            ways.Add(new[] { next, other });
            return sets.Count - 1;
        }

        /// <summary>Puts a part in front of a node; returns where it begins.</summary>
        private int Put(Part part, int next)
        {
            if (part.Most < 0)
            {
                int loop = Node(null, next, next);
                ways[loop][0] = PutOnce(part, loop);
                next = loop;
            }
            int behind = next;
            for (int i = part.Least; i < part.Most; i++)
            {
                next = Node(null, PutOnce(part, next), behind);
            }
            for (int i = 0; i < part.Least; i++)
            {
                next = PutOnce(part, next);
            }
            return next;
        }

        private int PutOnce(Part part, int next)
        {
            if (part.Units != null)
            {
                return Node(part.Units, next, 0);
            }
            int start = next;
            for (int i = part.Parts.Count - 1; i >= 0; i--)
            {
                int own = Put(part.Parts[i], part.IsChoice ? next : start);
                start = part.IsChoice && i < part.Parts.Count - 1 ? Node(null, own, start) : own;
            }
            return start;
        }

        /// <summary>Whether the end is reached from a node without a unit.</summary>
        private bool Reaches(int from)
        {
            return Closure(new[] { from }, 1).IndexOf('\0') == 0;
        }

        /// <summary>The nodes that are reached from some without a unit: those that take one and the end, ascending, as a text.</summary>
        private string Closure(int[] from, int count)
        {
            var seen = new bool[sets.Count];
            var open = new int[2 * sets.Count + count];
            int left = count;
            Array.Copy(from, open, count);
            while (left > 0)
            {
                int node = open[--left];
                if (seen[node])
                {
                    continue;
                }
                seen[node] = true;
                if (node != 0 && sets[node] == null)
                {
                    foreach (int next in ways[node])
                    {
                        if (!seen[next])
                        {
                            open[left++] = next;
                        }
                    }
                }
            }
            var all = new StringBuilder();
            for (int node = 0; node < seen.Length; node++)
            {
                if (seen[node] && (node == 0 || sets[node] != null))
                {
                    all.Append(((char)node).ToString());
                }
            }
            return all.ToString();
        }

        /// <summary>The deterministic automaton from a node on.</summary>
        private string Table(int start)
        {
            var classes = new int[Units];
            var first = new int[Units];
            int count = Classes(classes, first);
            var table = new StringBuilder();
            table.Append(((char)count).ToString());
            for (int unit = 0; unit < Units; unit++)
            {
                table.Append(((char)classes[unit]).ToString());
            }
            var states = new List<string>();
            states.Add(Closure(new[] { start }, 1));
            for (int i = 0; i < states.Count; i++)
            {
                string state = states[i];
                table.Append(state.IndexOf('\0') == 0 ? "\u0001" : "\0");
                for (int c = 0; c < count; c++)
                {
                    var to = new int[state.Length];
                    int reached = 0;
                    for (int n = 0; n < state.Length; n++)
                    {
                        bool[] set = sets[state[n]];
                        if (set != null && set[first[c]])
                        {
                            to[reached++] = ways[state[n]][0];
                        }
                    }
                    int place = reached == 0 ? -1 : Place(states, Closure(to, reached));
                    table.Append(((char)(place + 1)).ToString());
                }
            }
            return table.ToString();
        }

        private static int Place(List<string> states, string state)
        {
            for (int i = 0; i < states.Count; i++)
            {
                if (string.Equals(states[i], state, StringComparison.Ordinal))
                {
                    return i;
                }
            }
            if (states.Count == MostStates)
            {
                throw new Wrong("all of them together take too many states");
            }
            states.Add(state);
            return states.Count - 1;
        }

        /// <summary>Units that no node tells apart are one class: its number by the unit, and its first unit. Returns how many there are.</summary>
        private int Classes(int[] classes, int[] first)
        {
            int count = 0;
            for (int unit = 0; unit < Units; unit++)
            {
                int number = 0;
                while (number < count && !IsLike(unit, first[number]))
                {
                    number++;
                }
                if (number == count)
                {
                    first[count++] = unit;
                }
                classes[unit] = number;
            }
            return count;
        }

        private bool IsLike(int unit, int other)
        {
            for (int i = 0; i < sets.Count; i++)
            {
                if (sets[i] != null && sets[i][unit] != sets[i][other])
                {
                    return false;
                }
            }
            return true;
        }
    }
}
