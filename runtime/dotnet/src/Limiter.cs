using System.Diagnostics;
using System.Threading;

namespace Weave.Runtime
{
    /// <summary>Which outermost calls are recorded where that is so many a second of the process (<c>sample = "10/s"</c>).</summary>
    [DebuggerStepThrough]
    internal sealed class Limiter : Padding
    {
        private const long Second = 1000000000;

        /// <summary>One for each number that some rule says. Replaced, never changed.</summary>
        private static Limiter[] all = new Limiter[0];

        private readonly int number;
        private readonly long gap;
        /// <summary>From when on a call is taken.</summary>
        private long next;
        /// <summary>How many were not, since the last one that was.</summary>
        private long passed;

        private Limiter(int number, long now)
        {
            this.number = number;
            gap = (Second + number - 1) / number;
            next = now;
        }

        internal static Limiter Of(int number)
        {
            for (;;)
            {
                Limiter[] known = Volatile.Read(ref all);
                for (int i = 0; i < known.Length; i++)
                {
                    if (known[i].number == number)
                    {
                        return known[i];
                    }
                }
                var more = new Limiter[known.Length + 1];
                for (int i = 0; i < known.Length; i++)
                {
                    more[i] = known[i];
                }
                more[known.Length] = new Limiter(number, Clock.Now());
                Interlocked.CompareExchange(ref all, more, known);
            }
        }

        /// <summary>For how many calls the one at hand stands; 0 if it is not taken.</summary>
        internal int Take(long now)
        {
            for (;;)
            {
                long free = Volatile.Read(ref next);
                if (now < free)
                {
                    Interlocked.Increment(ref passed);
                    return 0;
                }
                // After a pause there are as many at once as in a second, and no more.
                long from = now - free > Second ? now - Second : free;
                if (Interlocked.CompareExchange(ref next, from + gap, free) != free)
                {
                    continue;
                }
                long weight = 1 + Interlocked.Exchange(ref passed, 0);
                if (weight > Modes.MostWeight)
                {
                    Interlocked.Add(ref passed, weight - Modes.MostWeight); // the next one tells
                    weight = Modes.MostWeight;
                }
                return (int)weight;
            }
        }
    }
}
