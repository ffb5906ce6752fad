using System;
using System.Text;

namespace Weave.Runtime
{
    /// <summary>SQL without its literals.</summary>
    internal static class Sanitizer
    {
        private const int Longest = 4000;

        /// <summary>The text with <c>?</c> for each literal, and without comments; null for null. What is not closed ends the text.</summary>
        internal static string Sanitized(string sql)
        {
            return Sanitized(sql, false);
        }

        /// <summary>The same. Where what stands in double quotes is a name for sure, it stays.</summary>
        internal static string Sanitized(string sql, bool quotesNames)
        {
            if (sql == null)
            {
                return null;
            }
            var all = new StringBuilder();
            int length = Math.Min(sql.Length, Longest);
            for (int i = 0; i < length;)
            {
                char c = sql[i];
                int start = i;
                if (c == '\'' || c == '"')
                {
                    i = c == '"' ? Behind(sql, "\"", i + 1) : BehindQuote(sql, i, length);
                    bool isName = c == '"' && quotesNames && i <= length;
                    all.Append(isName ? sql.Substring(start, i - start) : "?");
                }
                else if (Starts(sql, "--", i))
                {
                    i = Behind(sql, "\n", i) - 1;
                }
                else if (Starts(sql, "/*", i))
                {
                    i = Behind(sql, "*/", i + 2);
                }
                else if (c == '$' && Dollar(sql, i) > 0)
                {
                    int end = Dollar(sql, i);
                    i = Behind(sql, sql.Substring(i, end - i), end);
                    all.Append("?");
                }
                else if (IsDigit(c) || c == '.' && i + 1 < length && IsDigit(sql[i + 1]))
                {
                    while (i < length && (IsWord(sql[i]) || sql[i] == '.'))
                    {
                        i++;
                    }
                    all.Append("?");
                }
                else if (IsWord(c) || c == '$' || c == '@')
                {
                    // A name, or a parameter's.
                    i++;
                    while (i < length && (IsWord(sql[i]) || sql[i] == '$'))
                    {
                        i++;
                    }
                    all.Append(sql, start, i - start);
                }
                else
                {
                    i++;
                    all.Append(sql, start, 1);
                }
            }
            return all.ToString(0, all.Length).Trim();
        }

        private static bool Starts(string text, string with, int at)
        {
            return string.CompareOrdinal(text, at, with, 0, with.Length) == 0;
        }

        /// <summary>Behind the next such text, or the end.</summary>
        private static int Behind(string text, string next, int from)
        {
            for (int i = from; i + next.Length <= text.Length; i++)
            {
                if (Starts(text, next, i))
                {
                    return i + next.Length;
                }
            }
            return text.Length + 1;
        }

        /// <summary>Two quotes are one in a text. A backslash may take what follows along, or not: then nothing further is kept.</summary>
        private static int BehindQuote(string sql, int at, int length)
        {
            for (int i = at + 1; i < length; i++)
            {
                if (sql[i] == '\\')
                {
                    return length;
                }
                if (sql[i] == '\'')
                {
                    if (i + 1 >= length || sql[i + 1] != '\'')
                    {
                        return i + 1;
                    }
                    i++;
                }
            }
            return length;
        }

        /// <summary>Where the tag of a text in dollars ends (<c>$$</c>, <c>$tag$</c>), or 0.</summary>
        private static int Dollar(string sql, int at)
        {
            int end = at + 1;
            while (end < sql.Length && IsWord(sql[end]) && !IsDigit(sql[at + 1]))
            {
                end++;
            }
            return end < sql.Length && sql[end] == '$' ? end + 1 : 0;
        }

        private static bool IsDigit(char c)
        {
            return c >= '0' && c <= '9';
        }

        internal static bool IsWord(char c)
        {
            return c == '_' || char.IsLetterOrDigit(c);
        }
    }
}
