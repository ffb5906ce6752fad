using System.Runtime.CompilerServices;
using System.Threading;

namespace Weave.Runtime
{
    /// <summary>
    /// A lock for short sections on slow paths. It is no monitor, at which a thread could be interrupted or made to
    /// pump messages. And it gives up: a hook must never hang the program.
    /// </summary>
    internal sealed class Gate
    {
        private const long Patience = 5000000000;

        private int held;

        /// <summary>Whether the gate is held now by the caller, who must leave.</summary>
        internal bool Enter()
        {
            return TryEnter() || Await();
        }

        /// <summary>A method of its own: nothing is opened for the assembly with threads before somebody has to wait.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        private bool Await()
        {
            long start = Clock.Now();
            do
            {
                Thread.Yield();
                if (TryEnter())
                {
                    return true;
                }
            }
            while (Clock.Now() - start < Patience);
            return false;
        }

        internal void Leave()
        {
            Volatile.Write(ref held, 0);
        }

        private bool TryEnter()
        {
            return Volatile.Read(ref held) == 0 && Interlocked.CompareExchange(ref held, 1, 0) == 0;
        }
    }
}
