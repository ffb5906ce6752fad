using System;
using System.Collections.Generic;
using System.Text;

namespace Weave.Runtime
{
    /// <summary>What <c>weave control</c> asks for. It is checked as a whole before any of it is done.</summary>
    internal sealed class Request
    {
        private const string HeadLine = "weave control 2";
        /// <summary>The largest number: it has 32 bits.</summary>
        private const long Last = 0xFFFFFFFF;
        private static readonly string[] Modes = { "rules", "off", "count", "aggregate", "record", "auto" };

        /// <summary>It has 32 bits.</summary>
        internal uint Number;
        /// <summary>-1: it stays.</summary>
        internal int Level = -1;
        internal string Mode = "rules";
        internal readonly List<string> Enabled = new List<string>();
        internal readonly List<string> Disabled = new List<string>();
        internal bool Reset;

        /// <summary>Null if it is none, is for another process, or has anything that is not known here.</summary>
        internal static Request Of(byte[] bytes, string to, string nonce)
        {
            string text = Encoding.UTF8.GetString(bytes, 0, bytes.Length);
            if (!Control.Same(Encoding.UTF8.GetBytes(text), bytes))
            {
                return null; // what is no UTF-8 has become something else
            }
            string[] lines = text.Split('\n');
            string digits;
            var request = new Request();
            if (lines.Length < 4 || lines[0] != HeadLine || lines[1] != "to " + to || lines[2] != "nonce " + nonce
                || !Rest(lines[3], "number ", out digits) || !ToNumber(digits, out request.Number))
            {
                return null;
            }
            for (int i = 4; i < lines.Length; i++)
            {
                if (!request.Add(lines[i]) && (lines[i] != "" || i + 1 < lines.Length))
                {
                    return null;
                }
            }
            return request;
        }

        private static bool ToNumber(string digits, out uint number)
        {
            long n = 0;
            number = 0;
            for (int i = 0; i < digits.Length; i++)
            {
                int digit = digits[i] - '0';
                if (digit < 0 || digit > 9 || (n = 10 * n + digit) > Last)
                {
                    return false;
                }
            }
            number = (uint)n;
            return digits.Length > 0;
        }

        private bool Add(string line)
        {
            string rest;
            if (Rest(line, "level ", out rest))
            {
                Level = Place(Settings.Levels, rest);
                return Level >= 0;
            }
            if (Rest(line, "mode ", out rest))
            {
                Mode = rest;
                return Place(Modes, rest) >= 0;
            }
            if (Rest(line, "enable ", out rest))
            {
                Add(Enabled, rest);
                return true;
            }
            if (Rest(line, "disable ", out rest))
            {
                Add(Disabled, rest);
                return true;
            }
            Reset |= line == "reset";
            return line == "reset";
        }

        private static int Place(string[] words, string word)
        {
            for (int i = 0; i < words.Length; i++)
            {
                if (words[i] == word)
                {
                    return i;
                }
            }
            return -1;
        }

        private static bool Rest(string line, string word, out string rest)
        {
            bool starts = line.StartsWith(word, StringComparison.Ordinal);
            rest = starts ? line.Substring(word.Length) : null;
            return starts;
        }

        internal static bool Has(List<string> names, string name)
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

        /// <summary>Whether it comes after another of that number. Numbers begin again when they are used up.</summary>
        internal bool IsAfter(uint other)
        {
            return Number != 0 && unchecked((int)(Number - other)) > 0;
        }
    }
}
