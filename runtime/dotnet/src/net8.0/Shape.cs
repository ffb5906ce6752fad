using System;
using System.Collections.Generic;
using System.Text;

namespace Weave.Runtime
{
    /// <summary>
    /// What the trace calls the activities of a source and kind, and the names of their values. No weave knows these, so the library itself
    /// writes a symbols map of them: again, and longer, when a name comes up that was not there.
    /// </summary>
    internal sealed class Shape
    {
        private const int MostNames = 128;
        private const int MostShapes = 1000;
        /// <summary>Numbers of maps from here on are ours.</summary>
        private const int FirstMap = 1 << 20;
        private static readonly string[] Kinds = { "internal", "server", "client", "producer", "consumer" };
        private static readonly object TheGate = new object();
        private static readonly List<Shape> All = new List<Shape>();
        private static int made;

        private readonly string source;
        private readonly int kind;
        /// <summary>It only ever grows.</summary>
        private readonly List<string> names = new List<string>();
        internal readonly int Id;

        private Shape(string source, int kind)
        {
            this.source = source;
            this.kind = kind;
            for (int i = 0; i < Conventions.Usual.Length; i++)
            {
                names.Add(Conventions.Usual[i]); // so that one map is enough, mostly
            }
            uint hash = 2166136261;
            string text = "activities\n" + source + "\n" + Kinds[kind];
            for (int i = 0; i < text.Length; i++)
            {
                hash = unchecked((hash ^ text[i]) * 16777619);
            }
            Id = (int)hash;
        }

        /// <summary>That of a source and kind. A kind is <c>ActivityKind</c>'s number.</summary>
        internal static Shape Of(string source, int kind)
        {
            Shape known = Find(source, kind);
            if (known != null)
            {
                return known;
            }
            lock (TheGate)
            {
                known = Find(source, kind);
                if (known == null)
                {
                    known = new Shape(source, kind);
                    known.Tell();
                    if (All.Count < MostShapes)
                    {
                        All.Add(known);
                    }
                }
                return known;
            }
        }

        /// <summary>Makes places for these values, as long as there is room.</summary>
        internal void Know(List<KeyValuePair<string, object>> tags)
        {
            if (Has(tags))
            {
                return;
            }
            lock (TheGate)
            {
                int before = names.Count;
                for (int i = 0; i < tags.Count && names.Count < MostNames; i++)
                {
                    if (Place(tags[i].Key) < 0)
                    {
                        names.Add(tags[i].Key);
                    }
                }
                if (names.Count > before)
                {
                    Tell();
                }
            }
        }

        /// <summary>A value's place, or -1.</summary>
        internal int Place(string name)
        {
            for (int i = 0; i < names.Count; i++)
            {
                if (names[i] == name)
                {
                    return i;
                }
            }
            return -1;
        }

        private bool Has(List<KeyValuePair<string, object>> tags)
        {
            for (int i = 0; i < tags.Count; i++)
            {
                if (Place(tags[i].Key) < 0)
                {
                    return false;
                }
            }
            return true;
        }

        private static Shape Find(string source, int kind)
        {
            for (int i = All.Count - 1; i >= 0; i--)
            {
                Shape one = All[i];
                if (one.kind == kind && one.source == source)
                {
                    return one;
                }
            }
            return null;
        }

        private void Tell()
        {
            Store store = Trace.Store;
            if (store != null)
            {
                store.Symbols(FirstMap + made++, Map());
            }
        }

        /// <summary>The symbols map (<c>docs/trace-format.md</c>) with this one method.</summary>
        private byte[] Map()
        {
            var entries = new List<byte>();
            entries.Add(1);
            Text(entries, "activities");
            entries.Add(2);
            Text(entries, source);
            Text(entries, "");
            entries.Add(3);
            Number(entries, (uint)Id);
            Text(entries, Kinds[kind]);
            Text(entries, "");
            Number(entries, 0);
            entries.Add(9);
            Number(entries, (uint)Id);
            Number(entries, (uint)names.Count);
            for (int i = 0; i < names.Count; i++)
            {
                Text(entries, names[i]);
            }
            entries.Add(10);
            Number(entries, (uint)Id);
            entries.Add(13);
            Number(entries, (uint)Id);
            Number(entries, (uint)kind + 1);
            Text(entries, "{}");
            Text(entries, "");
            Text(entries, "error.type");
            Text(entries, "");
            Text(entries, "");
            int length = entries.Count;
            var map = new List<byte>();
            Word(map, 0x4D595357); // "WSYM"
            Word(map, 5);
            Word(map, 1);
            Word(map, 1);
            Word(map, length);
            Word(map, Checksum(entries));
            Word(map, length + 5);
            // One stored segment, the last.
            map.Add(1);
            map.Add((byte)length);
            map.Add((byte)(length >> 8));
            map.Add((byte)~length);
            map.Add((byte)(~length >> 8));
            var all = new byte[map.Count + length];
            for (int i = 0; i < all.Length; i++)
            {
                all[i] = i < map.Count ? map[i] : entries[i - map.Count];
            }
            return all;
        }

        private static void Text(List<byte> to, string text)
        {
            byte[] bytes = Format.Utf8(text, 200);
            Number(to, (uint)bytes.Length);
            for (int i = 0; i < bytes.Length; i++)
            {
                to.Add(bytes[i]);
            }
        }

        private static void Number(List<byte> to, uint number)
        {
            for (; number >= 128; number >>= 7)
            {
                to.Add((byte)(number | 128));
            }
            to.Add((byte)number);
        }

        private static void Word(List<byte> to, int word)
        {
            for (int i = 0; i < 32; i += 8)
            {
                to.Add((byte)(word >> i));
            }
        }

        /// <summary>CRC-32.</summary>
        private static int Checksum(List<byte> bytes)
        {
            uint sum = 0xFFFFFFFF;
            for (int i = 0; i < bytes.Count; i++)
            {
                sum ^= bytes[i];
                for (int bit = 0; bit < 8; bit++)
                {
                    sum = sum >> 1 ^ ((sum & 1) == 0 ? 0 : 0xEDB88320);
                }
            }
            return (int)~sum;
        }
    }
}
