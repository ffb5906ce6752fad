using System;
using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Weave.Runtime
{
    /// <summary>Whether this thread has the stack for what may go deep: files, and code of the program's own.</summary>
    [DebuggerStepThrough]
    internal static unsafe class Stack
    {
        /// <summary>An address so little above one with too little stack is not looked at again.</summary>
        private const long Slack = 4096;

        /// <summary>The question that throws nothing; null where the host does not have it.</summary>
        private static readonly Func<bool> Sufficient = (Func<bool>)Delegate.CreateDelegate(
            typeof(Func<bool>), typeof(RuntimeHelpers), "TryEnsureSufficientExecutionStack", false, false);

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
            if (Ask())
            {
                return true;
            }
            shortAt = at + Slack;
            return false;
        }

        private static bool Ask()
        {
            if (Sufficient != null)
            {
                return Sufficient();
            }
            try
            {
                RuntimeHelpers.EnsureSufficientExecutionStack();
                return true;
            }
            catch (Exception)
            {
                return false;
            }
        }
    }
}
