using System;
using System.Diagnostics;

namespace Weave.Runtime
{
    /// <summary>Whether this thread has the stack for what may go deep: files, and code of the program's own.</summary>
    [DebuggerStepThrough]
    internal static unsafe class Stack
    {
        /// <summary>An address so little above one with too little stack is not looked at again.</summary>
        private const long Slack = 4096;

        /// <summary>At and below this address there is too little, as is known; stacks grow downwards.</summary>
        [ThreadStatic]
        private static long shortAt;

        /// <summary>Asks once: where the answer was no, it stays so for that address and those below.</summary>
        internal static bool HasRoom()
        {
            byte here;
            long at = (long)&here;
            if (at <= shortAt)
            {
                return false;
            }
            if (Host.HasStack())
            {
                return true;
            }
            shortAt = at + Slack;
            return false;
        }
    }
}
