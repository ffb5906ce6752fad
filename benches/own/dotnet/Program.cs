using System;
using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Bench;

/// <summary>Times calls of each way in turns, slice by slice; prints the least and the median, in nanoseconds a call, and bytes allocated.</summary>
public static class Program
{
    private const int Calls = 20_000;
    private const string Text = "select name, price from orders where id=";

    private static readonly string[] Names = [/*NAMES*/];
    private static readonly Func<int>[] All = [/*WAYS*/];

    public static int Main(string[] arguments)
    {
        int slices = int.Parse(arguments[0]), warm = int.Parse(arguments[1]);
        int sink = 0;
        for (int i = 0; i < warm; i++)
        {
            foreach (Func<int> way in All)
            {
                sink += way();
            }
        }
        int byHand = Array.IndexOf(Names, "by hand");
        (int Calls, int Sum) expected = Logged(All[byHand]);
        var times = new double[All.Length][];
        var allocated = new long[All.Length];
        for (int k = 0; k < All.Length; k++)
        {
            times[k] = new double[slices];
            bool hooked = !Names[k].StartsWith("without") && !Names[k].StartsWith("the pair") && !Names[k].StartsWith("around");
            (int Calls, int Sum) found = Logged(All[k]);
            if (hooked ? found.Calls != expected.Calls : found != (0, 0))
            {
                Console.Error.WriteLine($"{Names[k]}: its hooks saw {found} instead of {expected}");
                return 1;
            }
        }
        for (int i = 0; i < slices; i++)
        {
            for (int k = 0; k < All.Length; k++)
            {
                long bytes = GC.GetAllocatedBytesForCurrentThread(), start = Stopwatch.GetTimestamp();
                sink += All[k]();
                times[k][i] = Stopwatch.GetElapsedTime(start).TotalNanoseconds / Calls;
                allocated[k] += GC.GetAllocatedBytesForCurrentThread() - bytes;
            }
        }
        foreach (double[] of in times)
        {
            Array.Sort(of);
        }
        for (int k = 0; k < All.Length; k++)
        {
            // Values are measured beyond the pair that they come with, hooks beyond the calls by hand, those around a body beyond a delegate.
            string of = Names[k].StartsWith("the pair and") ? "the pair" : Names[k].StartsWith("around") ? "around by hand" : "by hand";
            int from = Array.IndexOf(Names, of);
            double least = times[k][0] - times[from][0], median = times[k][slices / 2] - times[from][slices / 2];
            Console.WriteLine(FormattableString.Invariant(
                $".NET {Environment.Version,-8} {Names[k],-22} least {times[k][0],7:F2} median {times[k][slices / 2],7:F2}   beyond {Names[from],-8} {least,7:F2} {median,7:F2} ratio {times[k][0] / times[from][0],5:F2}   {(double)allocated[k] / slices / Calls:F1} bytes a call"));
        }
        GC.KeepAlive(sink);
        return 0;
    }

    /// <summary>What the hooks of a slice add up to.</summary>
    private static (int Calls, int Sum) Logged(Func<int> way)
    {
        (Log.Calls, Log.Sum) = (0, 0);
        way();
        return (Log.Calls, Log.Sum);
    }
/*LOOPS*/
}
