using System.Diagnostics;

namespace Weave.Runtime
{
    /// <summary>What <c>pack:redis-net</c> records of commands. A command and its key hold no values; who logs in does.</summary>
    [DebuggerStepThrough]
    public static class Redis
    {
        private const int Longest = 40;

        /// <summary>The command of <c>GET key</c>; null where there is none.</summary>
        public static string Operation(string commandAndKey)
        {
            int end = 0;
            while (commandAndKey != null && end < commandAndKey.Length && commandAndKey[end] > ' ')
            {
                end++;
            }
            return end == 0 || end > Longest ? null : commandAndKey.Substring(0, end).ToUpperInvariant();
        }
    }
}
