using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Weave.Runtime
{
    /// <summary>The monotonic clock in nanoseconds, as fine as the host's <see cref="Stopwatch"/>.</summary>
    internal static class Clock
    {
        private const long Second = 1000000000;

        /// <summary>Nanoseconds in a tick where they are a whole number, else 0: 1 on Unix, 100 on Windows and Mono.</summary>
        private static readonly long Scale = Second % Stopwatch.Frequency == 0 ? Second / Stopwatch.Frequency : 0;

        private static readonly double Factor = (double)Second / Stopwatch.Frequency;
        private static readonly long Origin = Stopwatch.GetTimestamp();

        /// <summary>The time since some moment near the process's start.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        internal static long Now()
        {
            long ticks = Stopwatch.GetTimestamp() - Origin;
            return Scale != 0 ? ticks * Scale : (long)(ticks * Factor);
        }
    }
}
