using System;

namespace Weave.Runtime
{
    /// <summary>A queue of chunks, each with the word to go on at. It is given room beforehand: no use of it fails.</summary>
    internal sealed unsafe class Chunks
    {
        private IntPtr[] chunks = new IntPtr[0];
        private IntPtr[] words = new IntPtr[0];
        private int first;
        private int count;

        internal bool IsEmpty
        {
            get { return count == 0; }
        }

        internal int Count
        {
            get { return count; }
        }

        /// <summary>Room for so many chunks in all.</summary>
        internal void Extend(int all)
        {
            if (all <= chunks.Length)
            {
                return;
            }
            all = Math.Max(all, 2 * chunks.Length);
            var nextChunks = new IntPtr[all];
            var nextWords = new IntPtr[all];
            for (int i = 0; i < count; i++)
            {
                int from = (first + i) % chunks.Length;
                nextChunks[i] = chunks[from];
                nextWords[i] = words[from];
            }
            chunks = nextChunks;
            words = nextWords;
            first = 0;
        }

        internal void Add(long* chunk, long* word)
        {
            int to = (first + count) % chunks.Length;
            chunks[to] = (IntPtr)chunk;
            words[to] = (IntPtr)word;
            count++;
        }

        /// <summary>The first, or null.</summary>
        internal long* Peek()
        {
            return count == 0 ? null : (long*)chunks[first];
        }

        /// <summary>The last, for 1, and so on.</summary>
        internal IntPtr Last(int number)
        {
            return chunks[(first + count - number) % chunks.Length];
        }

        /// <summary>Takes the first; null if there is none.</summary>
        internal long* Take(out long* word)
        {
            word = null;
            if (count == 0)
            {
                return null;
            }
            var chunk = (long*)chunks[first];
            word = (long*)words[first];
            first = (first + 1) % chunks.Length;
            count--;
            return chunk;
        }
    }
}
