using System;
using System.Globalization;
using System.Text;
using System.Threading;

namespace Weave.Runtime
{
    /// <summary>The numbers of <c>docs/trace-format.md</c>, and the escapes that carry text, as words ready to be written.</summary>
    internal static class Format
    {
        internal const long FileMagic = 0x0A0D454341525457; // "WTRACE\r\n", little-endian
        internal const int Version = 1;

        internal const int Chunk = 65536;
        internal const int ChunkWords = Chunk / 8;
        internal const int ChunkHeadWords = 4;
        internal const int ChunkMagic = 0x4B484357; // "WCHK"
        internal const int FreeMagic = 0x45524657; // "WFRE"
        internal const int Records = 1;
        internal const int Symbols = 2;
        internal const int Counts = 3;
        internal const int Aggregates = 4;
        internal const int Control = 5;

        /// <summary>Of an escape that comes alone.</summary>
        internal const int None = 0;
        internal const int Enter = 1;
        internal const int Exit = 2;
        internal const int ErrorRecord = 3;
        /// <summary>A gap of this many bits does not fit a record.</summary>
        internal const int GapBits = 30;

        internal const int Time = 1;
        internal const int Segment = 2;
        internal const int Thread = 3;
        internal const int Exception = 4;
        internal const int Lost = 5;
        internal const int End = 6;
        internal const int Unhandled = 7;
        internal const int Sample = 8;
        internal const int Value = 9;
        internal const int Aggregated = 10;
        internal const int Cpu = 11;
        internal const int Slow = 12;
        internal const int Sampled = 13;
        internal const int Span = 14;
        internal const int Context = 15;
        internal const int Logical = 16;
        internal const int Begin = 17;
        internal const int Complete = 18;
        internal const int Stays = 19;

        /// <summary>Kinds of values.</summary>
        internal const int Null = 1;
        internal const int Signed = 2;
        internal const int Unsigned = 3;
        internal const int Double = 4;
        internal const int Float = 5;
        internal const int Boolean = 6;
        internal const int Unit = 7;
        internal const int Text = 8;
        internal const int Other = 9;
        internal const int Note = 10;
        /// <summary>Flags of values.</summary>
        internal const int Cut = 1 << 8;
        internal const int Masked = 2 << 8;

        /// <summary>Flag of the library's own thread.</summary>
        internal const int Own = 4;

        /// <summary>Of a LOGICAL escape: the segment that begins is the call's first.</summary>
        internal const int First = 1;
        /// <summary>Of a LOGICAL escape: the segment that ends is the call's last.</summary>
        internal const int Last = 2;

        /// <summary>The type of an exception that is not known.</summary>
        private const string Unknown = "(unknown exception)";
        private const int NameLimit = 200;
        private const int TextLimit = 1000;

        private static readonly byte[] NoBytes = new byte[0];

        /// <summary>The first word of an escape.</summary>
        internal static long Escape(int type, int payloadWords, int argument)
        {
            return (long)argument << 32 | (long)(uint)(payloadWords << 8 | type << 2);
        }

        /// <summary>A THREAD escape.</summary>
        internal static long[] ThreadEscape(string text, int number, bool background, bool own)
        {
            byte[] name = Utf8(own ? text : Secrets.Names ? Secrets.Masked(text, NameLimit) : "Thread " + number.ToString(CultureInfo.InvariantCulture), NameLimit);
            var words = new long[2 + (name.Length + 7) / 8];
            words[0] = Escape(Thread, words.Length - 1, number);
            words[1] = (long)name.Length << 32 | (background ? 2L : 0) | (own ? Own : 0L);
            Pack(name, 0, name.Length, words, 16);
            return words;
        }

        /// <summary>
        /// An EXCEPTION escape. The message comes from the program's own code, which may do anything: what it throws
        /// means that there is no message. Unless <c>asked</c> says so it is not asked.
        /// </summary>
        internal static long[] ExceptionEscape(Exception e, bool asked)
        {
            bool unasked = e is Followed.Unasked;
            var told = e as Told;
            byte[] type = Utf8(unasked ? Unknown : told != null ? told.TypeName : e.GetType().ToString(), TextLimit);
            byte[] message;
            try
            {
                message = asked && !unasked ? Utf8(Secrets.Masked(e.Message, TextLimit), TextLimit) : NoBytes;
            }
            catch (Exception)
            {
                message = NoBytes;
            }
            var words = new long[2 + (type.Length + message.Length + 7) / 8];
            words[0] = Escape(Exception, words.Length - 1, 0);
            words[1] = (long)message.Length << 32 | (long)(uint)type.Length;
            Pack(type, 0, type.Length, words, 16);
            Pack(message, 0, message.Length, words, 16 + type.Length);
            return words;
        }

        /// <summary>So many bytes into <paramref name="words"/>, beginning at byte <paramref name="at"/> of them.</summary>
        private static void Pack(byte[] bytes, int from, int length, long[] words, int at)
        {
            for (int i = 0; i < length; i++, at++)
            {
                words[at >> 3] |= (long)bytes[from + i] << ((at & 7) << 3);
            }
        }

        /// <summary>At most <paramref name="limit"/> bytes of a text, cut between characters.</summary>
        internal static byte[] Utf8(string text, int limit)
        {
            if (string.IsNullOrEmpty(text))
            {
                return NoBytes;
            }
            // A char is at least one byte, so no more chars than this can matter.
            byte[] all = Encoding.UTF8.GetBytes(text.Length > limit ? text.Substring(0, limit) : text);
            if (all.Length <= limit)
            {
                return all;
            }
            int cut = limit;
            while (cut > 0 && (all[cut] & 0xC0) == 0x80)
            {
                cut--;
            }
            var some = new byte[cut];
            Array.Copy(all, some, cut);
            return some;
        }
    }
}
