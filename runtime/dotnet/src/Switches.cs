using System.Collections.Generic;
using System.IO;
using System.Text;

namespace Weave.Runtime
{
    /// <summary>An aspect that can be switched.</summary>
    internal sealed class Aspect
    {
        internal string Name;
        internal int Level;
        /// <summary>How much of its calls is recorded is decided while the program runs.</summary>
        internal bool Auto;
        /// <summary>Then what is longer is told one by one, in microseconds.</summary>
        internal int SlowerThan;
        /// <summary>What that may take, in thousandths of the program's CPU; 0 where the rule does not say it.</summary>
        internal int Overhead;
    }

    /// <summary>Methods whose ids follow one another, and the aspects that switch them.</summary>
    internal sealed class Row
    {
        internal int First;
        internal int Count;
        internal Aspect[] By;
    }

    /// <summary>What a symbols map says of switches: it lies in blocks of its own, which are stored as they are.</summary>
    internal sealed class Switches
    {
        private const int Head = 16;
        private const int BlockHead = 12;
        private const int AspectsTag = 11;
        private const int SwitchedTag = 12;
        private const int AutoFlag = 16;
        private const int SampleFlag = 32;
        private const int OverheadFlag = 128;

        internal readonly List<Row> Rows = new List<Row>();
        private Aspect[] aspects = new Aspect[0];
        private byte[] map;
        private byte[] block;
        private int at;

        /// <summary>Reads a map; fails if it is none.</summary>
        internal void Read(byte[] bytes)
        {
            map = bytes;
            if (bytes.Length < Head || Word(0) != 0x4D595357)
            {
                return;
            }
            int p = Head;
            for (int blocks = Word(12); blocks > 0; blocks--)
            {
                int length = Word(p);
                int packed = Word(p + 8);
                p += BlockHead;
                if (length < 0 || packed < 0 || packed > bytes.Length - p)
                {
                    throw new IOException("a block's length");
                }
                if (packed > 5 && bytes[p] <= 1 && bytes[p + 5] == AspectsTag)
                {
                    block = Stored(p, p + packed, length);
                    Entries();
                }
                p += packed;
            }
        }

        private int Word(int from)
        {
            return map[from] | map[from + 1] << 8 | map[from + 2] << 16 | map[from + 3] << 24;
        }

        /// <summary>What a deflate stream of stored segments holds.</summary>
        private byte[] Stored(int from, int to, int length)
        {
            if (length > to - from)
            {
                throw new IOException("a block's length");
            }
            var all = new byte[length];
            int n = 0;
            bool last = false;
            while (!last)
            {
                last = (map[from] & 1) != 0;
                int segment = map[from + 1] | map[from + 2] << 8;
                if (map[from] > 1 || segment > length - n || segment > to - from - 5)
                {
                    throw new IOException("a segment that is not stored");
                }
                for (int i = 0; i < segment; i++)
                {
                    all[n + i] = map[from + 5 + i];
                }
                n += segment;
                from += 5 + segment;
            }
            return all;
        }

        private void Entries()
        {
            at = 0;
            int last = 0;
            while (at < block.Length)
            {
                int tag = block[at++];
                if (tag == AspectsTag)
                {
                    aspects = new Aspect[Most(Number())];
                    for (int i = 0; i < aspects.Length; i++)
                    {
                        int flags = Number();
                        var aspect = new Aspect { Level = flags & 15, Auto = (flags & AutoFlag) != 0 };
                        aspect.SlowerThan = aspect.Auto ? Number() : 0;
                        aspect.Overhead = aspect.Auto && (flags & OverheadFlag) != 0 ? Number() : 0;
                        if ((flags & SampleFlag) != 0)
                        {
                            Number(); // the methods' own code says it
                        }
                        int length = Most(Number());
                        aspect.Name = Encoding.UTF8.GetString(block, at, length);
                        aspects[i] = aspect;
                        at += length;
                    }
                }
                else if (tag == SwitchedTag)
                {
                    int first = unchecked(last + Number());
                    var row = new Row { First = first, Count = Number(), By = new Aspect[Most(Number())] };
                    for (int i = 0; i < row.By.Length; i++)
                    {
                        row.By[i] = aspects[Number()];
                    }
                    last = unchecked(row.First + row.Count - 1);
                    Rows.Add(row);
                }
                else
                {
                    throw new IOException("an unknown tag");
                }
            }
        }

        /// <summary>A number of things that take a byte each at least.</summary>
        private int Most(int number)
        {
            if (number < 0 || number > block.Length - at)
            {
                throw new IOException("a number of things");
            }
            return number;
        }

        private int Number()
        {
            int number = 0;
            for (int shift = 0; shift < 35; shift += 7)
            {
                int next = block[at++];
                number |= (next & 0x7F) << shift;
                if (next < 0x80)
                {
                    return number;
                }
            }
            throw new IOException("a number");
        }
    }
}
