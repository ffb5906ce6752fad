using System.Threading;

namespace Weave.Runtime
{
    /// <summary>Chunk 0 of the file. Its counters are written by any thread, on slow paths.</summary>
    internal sealed unsafe class Header
    {
        internal const int Ended = 1;
        internal const int AllSymbols = 2;

        private const int FlagsAt = 36;
        private const int LostAt = 48;
        private const int OverwrittenAt = 56;
        private const int FailuresAt = 64;
        private const int EndAt = 72;
        private const int TextLengthAt = 80;
        private const int TextAt = 84;
        private const int TextLimit = 4000;

        private readonly byte* bytes;

        internal Header(long* chunk, long wallClock, long pid, int policy, long limit, string command)
        {
            bytes = (byte*)chunk;
            *(int*)(bytes + 8) = Format.Version;
            *(int*)(bytes + 12) = Format.Chunk;
            *(long*)(bytes + 16) = wallClock;
            *(long*)(bytes + 24) = pid;
            *(int*)(bytes + 32) = policy;
            *(long*)(bytes + 40) = limit;
            byte[] text = Format.Utf8(command, TextLimit);
            *(int*)(bytes + TextLengthAt) = text.Length;
            for (int i = 0; i < text.Length; i++)
            {
                bytes[TextAt + i] = text[i];
            }
            Volatile.Write(ref *chunk, Format.FileMagic);
        }

        internal void AddLost(long n)
        {
            Add(n, LostAt);
        }

        internal void AddOverwritten(long n)
        {
            Add(n, OverwrittenAt);
        }

        internal void AddFailures(long n)
        {
            Add(n, FailuresAt);
        }

        internal void SetFlag(int flag, bool on)
        {
            ref int flags = ref *(int*)(bytes + FlagsAt);
            int old;
            do
            {
                old = Volatile.Read(ref flags);
            }
            while (Interlocked.CompareExchange(ref flags, on ? old | flag : old & ~flag, old) != old);
        }

        internal void SetEnd(long time)
        {
            Volatile.Write(ref *(long*)(bytes + EndAt), time);
            SetFlag(Ended, true);
        }

        private void Add(long n, int at)
        {
            if (n != 0)
            {
                Interlocked.Add(ref *(long*)(bytes + at), n);
            }
        }
    }
}
