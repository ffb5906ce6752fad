using System;
using System.Diagnostics;
using System.Globalization;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading;
using Weave.Runtime;

/// <summary>
/// What a pair of hooks costs above two readings of the clock, measured in turns in one run; medians and minima over
/// the repeats, which are short, so that most of them run without being interrupted on a machine that others use too.
/// The arguments: number of threads, repeats.
/// </summary>
public static class HooksBench
{
    private const int Pairs = 20000;
    private static readonly bool Off = Environment.GetEnvironmentVariable("WEAVE_TRACE") == "off";
    private static readonly double Tick = 1e9 / Stopwatch.Frequency;
    private static readonly Func<long> Allocated = AllocatedBytes();
    private static long sink;

    private sealed class Result
    {
        internal double[] Clock, Hooks, Logical, Switched, Counted, Sampled, Nothing;
        internal double Bytes;
    }

    public static void Main(string[] arguments)
    {
        int threads = int.Parse(arguments[0]);
        int repeats = int.Parse(arguments[1]);
        Check(4713);
        var results = new Result[threads];
        var all = new Thread[threads];
        for (int t = 0; t < threads; t++)
        {
            int self = t;
            all[t] = new Thread(() => results[self] = Measure(repeats));
            all[t].Start();
        }
        foreach (Thread thread in all)
        {
            thread.Join();
        }
        double bytes = 0;
        foreach (Result r in results)
        {
            bytes = Math.Max(bytes, r.Bytes);
        }
        double clock = Worst(results, r => r.Clock[repeats / 2]), hooks = Worst(results, r => r.Hooks[repeats / 2]);
        double logical = Worst(results, r => r.Logical[repeats / 2]);
        double switched = Worst(results, r => r.Switched[repeats / 2]) - Worst(results, r => r.Nothing[repeats / 2]);
        double counted = Worst(results, r => r.Counted[repeats / 2]) - Worst(results, r => r.Nothing[repeats / 2]);
        double sampled = Worst(results, r => r.Sampled[repeats / 2]) - Worst(results, r => r.Nothing[repeats / 2]);
        double clockMin = Worst(results, r => r.Clock[0]), hooksMin = Worst(results, r => r.Hooks[0]);
        Console.WriteLine(string.Format(CultureInfo.InvariantCulture,
            "{0,-12} trace {1,-3} {2} thread{3}  median: {4} {5,5:F1}, hooks pair {6,5:F1}, difference {7,5:F1} ns; resume + suspend {8,5:F1} ns; switched off {13,4:F1}, counted {14,4:F1}, sampled 1/100 {15,4:F1} ns"
            + "   minimum: {9:F1}, {10:F1}, {11:F1} ns   allocated {12} B a pair",
            Environment.GetEnvironmentVariable("BENCH_HOST") ?? "?", Off ? "off" : "on", threads, threads == 1 ? " " : "s",
            Off ? "nothing" : "clock pair", clock, hooks, hooks - clock, logical, clockMin, hooksMin, hooksMin - clockMin,
            Allocated == null ? "?" : bytes.ToString("F4", CultureInfo.InvariantCulture), switched, counted, sampled));
    }

    /// <summary>A method that is off by its level, once its map is read.</summary>
    private static void Check(int id)
    {
        for (int i = 0; i < 10; i++)
        {
            if (Switched.Enter(DebugLevel, id) != 0)
            {
                throw new InvalidOperationException("it is on");
            }
            Thread.Sleep(100);
        }
    }

    private const int DebugLevel = 2 << 4;
    private const int CountMode = 1 << 4 | 2;
    private const int Hundredth = 1 << 4 | 8 | 100 << 8;

    private static double Worst(Result[] results, Func<Result, double> of)
    {
        double worst = 0;
        foreach (Result r in results)
        {
            worst = Math.Max(worst, of(r));
        }
        return worst;
    }

    /// <summary>GC.GetAllocatedBytesForCurrentThread, which Mono's class library does not have.</summary>
    private static Func<long> AllocatedBytes()
    {
        MethodInfo method = typeof(GC).GetMethod("GetAllocatedBytesForCurrentThread");
        return method == null ? null : (Func<long>)method.CreateDelegate(typeof(Func<long>));
    }

    private static Result Measure(int repeats)
    {
        for (int i = 0; i < 300; i++)
        {
            sink += (Off ? Nothing(Pairs) : Clocks(Pairs)) + HookPairs(Pairs) + LogicalPairs(Pairs / 10) + SwitchedPairs(Pairs, DebugLevel, 4713) + SwitchedPairs(Pairs, CountMode, 4714)
                + SwitchedPairs(Pairs, Hundredth, 4714) + Nothing(Pairs);
            if (i % 100 == 99)
            {
                Thread.Sleep(200); // the compiler's second tier comes in the background
            }
        }
        var result = new Result { Clock = new double[repeats], Hooks = new double[repeats], Logical = new double[repeats],
            Switched = new double[repeats], Counted = new double[repeats], Sampled = new double[repeats], Nothing = new double[repeats] };
        long allocated = 0;
        for (int i = 0; i < repeats; i++)
        {
            long a = Stopwatch.GetTimestamp();
            sink += Off ? Nothing(Pairs) : Clocks(Pairs);
            long b = Stopwatch.GetTimestamp();
            long before = Allocated == null ? 0 : Allocated();
            long c = Stopwatch.GetTimestamp();
            sink += HookPairs(Pairs);
            long d = Stopwatch.GetTimestamp();
            allocated += Allocated == null ? 0 : Allocated() - before;
            sink += LogicalPairs(Pairs / 10);
            long e = Stopwatch.GetTimestamp();
            sink += SwitchedPairs(Pairs, DebugLevel, 4713);
            long f = Stopwatch.GetTimestamp();
            sink += Nothing(Pairs);
            long g = Stopwatch.GetTimestamp();
            sink += SwitchedPairs(Pairs, CountMode, 4714);
            long h = Stopwatch.GetTimestamp();
            sink += SwitchedPairs(Pairs, Hundredth, 4714);
            long j = Stopwatch.GetTimestamp();
            result.Sampled[i] = (j - h) * Tick / Pairs;
            result.Counted[i] = (h - g) * Tick / Pairs;
            result.Switched[i] = (f - e) * Tick / Pairs;
            result.Nothing[i] = (g - f) * Tick / Pairs;
            result.Clock[i] = (b - a) * Tick / Pairs;
            result.Hooks[i] = (d - c) * Tick / Pairs;
            result.Logical[i] = (e - d) * Tick / (Pairs / 10);
        }
        Array.Sort(result.Clock);
        Array.Sort(result.Hooks);
        Array.Sort(result.Logical);
        Array.Sort(result.Switched);
        Array.Sort(result.Counted);
        Array.Sort(result.Sampled);
        Array.Sort(result.Nothing);
        result.Bytes = allocated / (double)Pairs / repeats;
        return result;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static long Clocks(int n)
    {
        long sum = 0;
        for (int i = 0; i < n; i++)
        {
            sum += Stopwatch.GetTimestamp();
            sum ^= i;
            sum += Stopwatch.GetTimestamp();
        }
        return sum;
    }

    /// <summary>What stands between the hooks, alone: the floor when tracing is off.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static long Nothing(int n)
    {
        long sum = 0;
        for (int i = 0; i < n; i++)
        {
            sum ^= i * 31;
            sum += i;
        }
        return sum;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static long HookPairs(int n)
    {
        long sum = 0;
        for (int i = 0; i < n; i++)
        {
            Hooks.Enter(4711);
            sum ^= i * 31;
            sum += i;
            Hooks.Exit(4711);
        }
        return sum;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static long SwitchedPairs(int n, int rules, int id)
    {
        long sum = 0;
        for (int i = 0; i < n; i++)
        {
            int state = Switched.Enter(rules, id);
            try
            {
                sum ^= i * 31;
                sum += i;
            }
            catch (Exception e)
            {
                Switched.Error(e, state, id);
                throw;
            }
            Switched.Exit(state, id);
        }
        return sum;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static long LogicalPairs(int n)
    {
        long call = 0;
        for (int i = 0; i < n; i++)
        {
            Hooks.Resume(ref call, 4712);
            Hooks.Suspend(ref call, 4712);
        }
        Hooks.End(ref call, 4712);
        return call;
    }
}
