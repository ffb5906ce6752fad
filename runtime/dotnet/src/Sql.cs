using System;
using System.Data;
using System.Diagnostics;

namespace Weave.Runtime
{
    /// <summary>What rules record of SQL commands. Each takes a command (<c>IDbCommand</c>), or a text.</summary>
    [DebuggerStepThrough]
    public static class Sql
    {
        private const int LongestWord = 24;

        /// <summary>The text of a command, or null.</summary>
        public static string Of(object command)
        {
            IDbCommand known = command as IDbCommand;
            return known == null ? command as string : known.CommandText;
        }

        /// <summary>The text with <c>?</c> for each literal, and without comments; null of a stored procedure.</summary>
        public static string Sanitized(object command)
        {
            return IsProcedure(command) ? null : Sanitizer.Sanitized(Of(command));
        }

        /// <summary>The name of the stored procedure that a command is; null of another.</summary>
        public static string Procedure(object command)
        {
            return IsProcedure(command) ? Of(command) : null;
        }

        /// <summary>The first word of a statement, in capitals; null where it begins with none.</summary>
        public static string Operation(object command)
        {
            if (IsProcedure(command))
            {
                return "EXECUTE";
            }
            string text = Sanitized(command);
            int start = 0;
            while (text != null && start < text.Length && (text[start] == '(' || text[start] <= ' '))
            {
                start++;
            }
            int end = start;
            while (text != null && end < text.Length && Sanitizer.IsWord(text[end]) && end - start <= LongestWord)
            {
                end++;
            }
            return end == start || end - start > LongestWord ? null : text.Substring(start, end - start).ToUpperInvariant();
        }

        /// <summary>The table that a statement is about; null where none is seen, or several are.</summary>
        public static string Collection(object command)
        {
            string text = Sanitized(command);
            string found = null;
            string before = "";
            for (int i = 0; text != null && i < text.Length;)
            {
                int start = i;
                while (i < text.Length && (Sanitizer.IsWord(text[i]) || text[i] == '.'))
                {
                    i++;
                }
                if (i == start)
                {
                    i++;
                    before = text[start] <= ' ' ? before : "";
                    continue;
                }
                string word = text.Substring(start, i - start);
                bool isNamed = IsOneOf(before, "FROM", "INTO", "UPDATE", "JOIN", "TABLE");
                if (isNamed && !IsOneOf(word, "SELECT", "IF"))
                {
                    if (found != null && found != word)
                    {
                        return null;
                    }
                    found = word;
                }
                before = word;
            }
            return found;
        }

        private static bool IsOneOf(string word, params string[] all)
        {
            for (int i = 0; i < all.Length; i++)
            {
                if (string.Equals(word, all[i], StringComparison.OrdinalIgnoreCase))
                {
                    return true;
                }
            }
            return false;
        }

        private static bool IsProcedure(object command)
        {
            IDbCommand known = command as IDbCommand;
            return known != null && known.CommandType == CommandType.StoredProcedure;
        }
    }
}
