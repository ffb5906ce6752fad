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
        private const int NotesAt = 4096;
        private const int LimitByAt = 8192;
        private const int HeartbeatAt = 8224;
        private const int TakenOutAt = 8232;
        private const int ShortAt = 8200;
        private const int FailedAt = 8208;
        private const int LostOverwrittenAt = 8256;
        private const int ControlledAt = 8264;
        private const int RequestAt = 8268;
        private const int NonceAt = 8272;

        private readonly byte* bytes;

        internal Header(long* chunk, long wallClock, long pid, int policy, long limit, int limitBy, string command, byte[] nonce)
        {
            bytes = (byte*)chunk;
            *(int*)(bytes + 8) = Format.Version;
            *(int*)(bytes + 12) = Format.Chunk;
            *(long*)(bytes + 16) = wallClock;
            *(long*)(bytes + 24) = pid;
            *(int*)(bytes + 32) = policy;
            *(long*)(bytes + 40) = limit;
            *(int*)(bytes + LimitByAt) = limitBy;
            byte[] text = Format.Utf8(command, TextLimit);
            *(int*)(bytes + TextLengthAt) = text.Length;
            for (int i = 0; i < text.Length; i++)
            {
                bytes[TextAt + i] = text[i];
            }
            for (int i = 0; i < nonce.Length; i++)
            {
                bytes[NonceAt + i] = nonce[i];
            }
            Volatile.Write(ref *chunk, Format.FileMagic);
        }

        /// <summary>What there is to know of this run, in lines, or null.</summary>
        internal void SetNotes(string lines)
        {
            if (lines == null)
            {
                return;
            }
            byte[] text = Format.Utf8(lines.Replace("\r", ""), TextLimit);
            for (int i = 0; i < text.Length; i++)
            {
                bytes[NotesAt + 4 + i] = text[i];
            }
            Volatile.Write(ref *(int*)(bytes + NotesAt), text.Length);
        }

        /// <summary>What a consumer adds to while it lives; 0 if there never was one.</summary>
        internal long Heartbeat
        {
            get { return Volatile.Read(ref *(long*)(bytes + HeartbeatAt)); }
        }

        /// <summary>Chunks that consumers took out.</summary>
        internal long TakenOut
        {
            get { return Volatile.Read(ref *(long*)(bytes + TakenOutAt)); }
        }

        internal void AddLost(long n)
        {
            Add(n, LostAt);
        }

        /// <summary>The ring has overwritten a chunk of so many records.</summary>
        internal void AddOverwritten(long records)
        {
            Add(records, LostAt);
            Add(records, LostOverwrittenAt);
            Add(1, OverwrittenAt);
        }

        /// <summary>Hooks that failed, each of which lost a record.</summary>
        internal void AddFailures(long n)
        {
            Add(n, FailuresAt);
            Add(n, FailedAt);
        }

        /// <summary>Of the lost records, those for which the stack was short.</summary>
        internal void AddShort(long n)
        {
            Add(n, ShortAt);
        }

        /// <summary>The library looks for requests of <c>weave control</c>.</summary>
        internal void SetControlled()
        {
            Volatile.Write(ref *(int*)(bytes + ControlledAt), 1);
        }

        /// <summary>It has taken this one.</summary>
        internal void SetRequest(uint number)
        {
            Volatile.Write(ref *(int*)(bytes + RequestAt), (int)number); // who sees the number sees what the request switched
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
