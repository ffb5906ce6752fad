using System;
using System.Diagnostics;
using System.Threading;

namespace Weave.Runtime
{
    /// <summary>
    /// What of messages, thread names and the command line is not written. The user's switches leave them out; the masks of all
    /// aspects whose values were recorded so far hold for all messages and names, whichever method an exception leaves.
    /// </summary>
    [DebuggerStepThrough]
    internal static class Secrets
    {
        internal static readonly bool Messages = Settings.IsWritten("weave.trace.messages");
        internal static readonly bool Threads = Settings.IsWritten("weave.trace.threads");
        internal static readonly bool Command = Settings.IsWritten("weave.trace.command");
        /// <summary>Beyond so many masks messages and names are left out.</summary>
        private const int Most = 64;

        private static string[] masks = new string[0];

        /// <summary>A mask holds from now on.</summary>
        internal static void Learn(string mask)
        {
            foreach (string known in Volatile.Read(ref masks))
            {
                if (ReferenceEquals(known, mask))
                {
                    return;
                }
            }
            for (;;)
            {
                string[] all = Volatile.Read(ref masks);
                if (all.Length > Most)
                {
                    return;
                }
                foreach (string known in all)
                {
                    if (string.Equals(known, mask, StringComparison.Ordinal))
                    {
                        return;
                    }
                }
                var more = new string[all.Length + 1];
                Array.Copy(all, more, all.Length);
                more[all.Length] = mask;
                if (ReferenceEquals(Interlocked.CompareExchange(ref masks, more, all), all))
                {
                    return;
                }
            }
        }

        /// <summary>What of a text is written, of which no more than so many bytes are kept; null for nothing.</summary>
        internal static string Masked(string text, int limit)
        {
            string[] all = Volatile.Read(ref masks);
            if (text == null || all.Length > Most)
            {
                return null;
            }
            if (text.Length > limit + Mask.Window)
            {
                text = text.Substring(0, limit + Mask.Window);
            }
            foreach (string mask in all)
            {
                text = Mask.Apply(mask, text, int.MaxValue - 1);
            }
            return text;
        }
    }
}
