using System;
using System.Diagnostics;
using System.IO;
using System.Threading;
using Weave.Runtime;

/// <summary>
/// How long a woven call stops its thread at worst: THREADS CALLS. Past 1 GB of records the file has its default limit and the
/// ring begins. To be compared with the same run switched off: what the machine itself stops is in both. On Linux it also tells
/// what a busy machine does not blur, as the kernel counts it for the calling threads: chunks that they wrote themselves, since none was
/// ready; page faults; and how often they waited for another (a gate, the disk).
/// </summary>
public static class StallBench
{
    private sealed class Result
    {
        internal long Worst, Above, Chunks, Faults, Waits;
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
            sum.Chunks += results[t].Chunks;
            sum.Faults += results[t].Faults;
            sum.Waits += results[t].Waits;
        }
        double took = (Stopwatch.GetTimestamp() - start) * 1e9 / Stopwatch.Frequency;
        Console.WriteLine("threads " + threads + ", worst us " + sum.Worst * 1000000 / Stopwatch.Frequency + ", above 1 ms " + sum.Above
            + ", mean ns " + (long)(took / calls) + ", chunks written by callers " + sum.Chunks + ", their page faults " + sum.Faults
            + ", their waits " + sum.Waits);
    }

    private static Result Run(int calls)
    {
        var result = new Result();
        // The first opens the trace.
        Hooks.Enter(4711);
        Hooks.Exit(4711);
        long written = Told("io", "wchar:"), faults = Faults(), waits = Told("status", "voluntary_ctxt_switches:");
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
        result.Chunks = (Told("io", "wchar:") - written) / (64 << 10);
        result.Faults = Faults() - faults;
        result.Waits = Told("status", "voluntary_ctxt_switches:") - waits;
        return result;
    }

    /// <summary>What Linux says of this thread; 0 elsewhere.</summary>
    private static long Told(string file, string name)
    {
        string path = "/proc/thread-self/" + file;
        if (!File.Exists(path))
        {
            return 0;
        }
        foreach (string line in File.ReadAllText(path).Split('\n'))
        {
            if (line.StartsWith(name, StringComparison.Ordinal))
            {
                return long.Parse(line.Substring(name.Length).Trim());
            }
        }
        return 0;
    }

    private static long Faults()
    {
        const string Stat = "/proc/thread-self/stat";
        // Behind the name, which may hold anything, the tenth field of all.
        return File.Exists(Stat) ? long.Parse(File.ReadAllText(Stat).Substring(File.ReadAllText(Stat).LastIndexOf(')') + 2).Split(' ')[7]) : 0;
    }
}
