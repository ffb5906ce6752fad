using System;
using System.Diagnostics;
using System.Threading;
using Weave.Runtime;

/// <summary>
/// How long a woven call stops its thread at worst: THREADS CALLS. Past 1 GB of records the file has its default limit and the
/// ring begins. To be compared with the same run switched off: what the machine itself stops is in both.
/// </summary>
public static class StallBench
{
    private sealed class Result
    {
        internal long Worst, Above;
    }

    public static void Main(string[] arguments)
    {
        int threads = int.Parse(arguments[0]);
        int calls = int.Parse(arguments[1]) / threads;
        var results = new Result[threads];
        var all = new Thread[threads];
        long start = Stopwatch.GetTimestamp();
        for (int t = 0; t < threads; t++)
        {
            int self = t;
            all[t] = new Thread(() => results[self] = Run(calls));
            all[t].Start();
        }
        var sum = new Result();
        for (int t = 0; t < threads; t++)
        {
            all[t].Join();
            sum.Worst = Math.Max(sum.Worst, results[t].Worst);
            sum.Above += results[t].Above;
        }
        double took = (Stopwatch.GetTimestamp() - start) * 1e9 / Stopwatch.Frequency;
        Console.WriteLine("threads " + threads + ", worst us " + sum.Worst * 1000000 / Stopwatch.Frequency + ", above 1 ms " + sum.Above
            + ", mean ns " + (long)(took / calls));
    }

    private static Result Run(int calls)
    {
        var result = new Result();
        long limit = Stopwatch.Frequency / 1000;
        long last = Stopwatch.GetTimestamp();
        for (int i = 0; i < calls; i++)
        {
            Hooks.Enter(4711);
            Hooks.Exit(4711);
            long now = Stopwatch.GetTimestamp();
            long took = now - last;
            last = now;
            if (took > result.Worst)
            {
                result.Worst = took;
            }
            if (took > limit)
            {
                result.Above++;
            }
        }
        return result;
    }
}
