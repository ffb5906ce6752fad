using System;
using System.Collections;
using System.Diagnostics;
using System.Globalization;
using System.Runtime.CompilerServices;
using System.Text;

namespace Weave.Runtime
{
    /// <summary>
    /// Objects as texts, without running code of the program's, and without a lock: the program may hold it, or hold one that must be taken later.
    /// </summary>
    [DebuggerStepThrough]
    internal static class Texts
    {
        /// <summary>A text, of which no more than so many units are asked for, and maybe a few more.</summary>
        internal static string Of(object v, int limit)
        {
            var text = new StringBuilder();
            Put(v, limit, 2, text);
            return text.ToString();
        }

        /// <summary>The text that characters or bytes are; null for anything else.</summary>
        internal static string Units(object v, int limit)
        {
            var chars = v as char[];
            if (chars != null)
            {
                return new string(chars, 0, Math.Min(chars.Length, limit + 1));
            }
            var bytes = v as byte[];
            if (bytes == null || v.GetType() != typeof(byte[]))
            {
                return null;
            }
            int length = Math.Min(bytes.Length, limit + 1);
            var some = new byte[length];
            Array.Copy(bytes, some, length);
            return Encoding.UTF8.GetString(some, 0, length);
        }

        private static void Put(object v, int limit, int depth, StringBuilder text)
        {
            if (v == null)
            {
                text.Append("null");
                return;
            }
            string s = v as string;
            if (s != null)
            {
                text.Append(s, 0, s.Length <= limit ? s.Length : limit + 1);
                return;
            }
            Array array = v as Array;
            if (array != null && array.Rank == 1 && depth > 0)
            {
                text.Append("[");
                int first = array.GetLowerBound(0);
                for (int i = 0; i < array.Length && text.Length <= limit; i++)
                {
                    text.Append(i == 0 ? "" : ", ");
                    Put(array.GetValue(first + i), limit, depth - 1, text);
                }
                text.Append("]");
                return;
            }
            string name = v.GetType().ToString();
            if (v is Enum)
            {
                text.Append(v.ToString());
                return;
            }
            string plain = Plain(v, name, limit);
            if (plain != null)
            {
                text.Append(plain);
                return;
            }
            text.Append(name);
            ICollection collection = v as ICollection;
            if (collection != null && array == null && IsCounted(name))
            {
                text.Append("(").Append(collection.Count.ToString(CultureInfo.InvariantCulture)).Append(")");
            }
            else if (!(v is ValueType)) // a copy of its own each time
            {
                text.Append("@").Append(RuntimeHelpers.GetHashCode(v).ToString("x", CultureInfo.InvariantCulture));
            }
        }

        /// <summary>
        /// Whether a collection of this type knows its number of elements, takes no lock to tell it, and asks no other collection, which may be the
        /// program's.
        /// </summary>
        private static bool IsCounted(string name)
        {
            int generic = name.IndexOf('[');
            switch (generic < 0 ? name : name.Substring(0, generic))
            {
                case "System.Collections.ArrayList":
                case "System.Collections.BitArray":
                case "System.Collections.Hashtable":
                case "System.Collections.Queue":
                case "System.Collections.SortedList":
                case "System.Collections.Stack":
                case "System.Collections.Generic.Dictionary`2":
                case "System.Collections.Generic.Dictionary`2+KeyCollection":
                case "System.Collections.Generic.Dictionary`2+ValueCollection":
                case "System.Collections.Generic.LinkedList`1":
                case "System.Collections.Generic.List`1":
                case "System.Collections.Generic.OrderedDictionary`2":
                case "System.Collections.Generic.Queue`1":
                case "System.Collections.Generic.SortedDictionary`2":
                case "System.Collections.Generic.SortedList`2":
                case "System.Collections.Generic.SortedSet`1":
                case "System.Collections.Generic.Stack`1":
                case "System.Collections.Specialized.HybridDictionary":
                case "System.Collections.Specialized.ListDictionary":
                case "System.Collections.Specialized.NameValueCollection":
                case "System.Collections.Specialized.OrderedDictionary":
                case "System.Collections.Specialized.StringCollection":
                    return true;
                default:
                    return name.StartsWith("System.Collections.Immutable.", StringComparison.Ordinal)
                        || name.StartsWith("System.Collections.Frozen.", StringComparison.Ordinal);
            }
        }

        /// <summary>What a type of the platform says of itself, if that tells more than its name and runs no other code; else null.</summary>
        private static string Plain(object v, string name, int limit)
        {
            switch (name)
            {
                case "System.DateTime":
                case "System.DateTimeOffset":
                case "System.DateOnly":
                case "System.TimeOnly":
                    return ((IFormattable)v).ToString("o", CultureInfo.InvariantCulture);
                case "System.SByte":
                case "System.Byte":
                case "System.Int16":
                case "System.UInt16":
                case "System.Int32":
                case "System.UInt32":
                case "System.Int64":
                case "System.UInt64":
                case "System.Single":
                case "System.Double":
                case "System.Decimal":
                case "System.TimeSpan":
                case "System.Guid":
                case "System.Numerics.BigInteger":
                    return ((IFormattable)v).ToString(null, CultureInfo.InvariantCulture);
                case "System.Boolean":
                    return (bool)v ? "true" : "false";
                case "System.Char":
                case "System.Version":
                case "System.RuntimeType":
                    return v.ToString();
                case "System.Uri":
                    return Given(v);
                case "System.Text.StringBuilder":
                    var builder = (StringBuilder)v;
                    return builder.ToString(0, builder.Length <= limit ? builder.Length : limit + 1);
                default:
                    return null;
            }
        }

        /// <summary>What a URI was made of. Its <c>ToString</c> parses, and fails where a method of its own is under way: the framework may be woven.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        private static string Given(object v)
        {
            return ((Uri)v).OriginalString;
        }
    }
}
