using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

namespace Shop;

/// <summary>A day in a small shop: waiting and working, what goes wrong, and the rest of what C# has.</summary>
public static class Program
{
    public static async Task<int> Main()
    {
        var till = new Till { Name = "front" };
        Console.WriteLine($"paid {await till.PayAsync(new Order("tea", 3, 250))}");
        Console.WriteLine($"paid {await till.PayAsync(new Order("cake", 1, 480))}");
        await RefusedAsync(till);
        await CancelledAsync();
        await ParallelAsync();
        await CachedAsync();
        await BackgroundAsync();
        Counting();
        await TicksAsync();
        Generics();
        Spans();
        Console.WriteLine($"filtered: {Filtered(1)} {Filtered(2)} {Filtered(3)}");
        Locked();
        Members();
        Finalized();
        Console.WriteLine($"total {till.Total}");
        return till.Total == new Money(1230) ? 0 : 1;
    }

    /// <summary>An exception after an await, its stack trace told.</summary>
    private static async Task RefusedAsync(Till till)
    {
        try
        {
            await till.PayAsync(new Order("nothing", 0, 100));
        }
        catch (InvalidOperationException e)
        {
            Console.WriteLine($"refused: {e.Message}");
            foreach (string line in Lines(e))
            {
                Console.WriteLine(line);
            }
        }
    }

    /// <summary>The frames of an exception that have a line of these sources.</summary>
    private static IEnumerable<string> Lines(Exception e)
    {
        return e.StackTrace!.Split('\n').Where(l => l.Contains(":line ")).Select(l => "  " + l.Trim());
    }

    private static async Task CancelledAsync()
    {
        using var source = new CancellationTokenSource();
        Task watch = Till.WatchAsync(source.Token);
        Task wait = Till.WaitAsync(source.Token);
        // The wait has begun, so it lasts this time however busy the machine is.
        source.CancelAfter(20);
        try
        {
            await wait;
        }
        catch (OperationCanceledException e)
        {
            Console.WriteLine($"cancelled: {e.GetType().Name}");
        }
        await Task.WhenAny(watch);
        Console.WriteLine($"watch: {watch.Status}");
    }

    /// <summary>Three wait at the same time, and one works.</summary>
    private static async Task ParallelAsync()
    {
        Task<int>[] tasks = [Till.DeliverAsync(1), Till.DeliverAsync(2), Till.DeliverAsync(3)];
        int worked = await Till.WorkAsync();
        int[] delivered = await Task.WhenAll(tasks);
        Console.WriteLine($"delivered {string.Join(" ", delivered)}, worked {worked}");
    }

    /// <summary>What is there at once never waits.</summary>
    private static async Task CachedAsync()
    {
        var stock = new Stock();
        int first = await stock.CountAsync("tea"), second = await stock.CountAsync("tea");
        Console.WriteLine($"in stock: {first} {second}");
    }

    private static async Task BackgroundAsync()
    {
        var done = new TaskCompletionSource<string>(TaskCreationOptions.RunContinuationsAsynchronously);
        Notify(done);
        Console.WriteLine(await done.Task);
    }

    private static async void Notify(TaskCompletionSource<string> done)
    {
        await Task.Yield();
        done.SetResult("notified");
    }

    /// <summary>Iterators: one to its end, one left early, one never disposed of, one that throws.</summary>
    private static void Counting()
    {
        Console.WriteLine($"sum {Numbers.Upto(4).Sum()}");
        foreach (int n in Numbers.Upto(100))
        {
            if (n == 2)
            {
                break;
            }
        }
        IEnumerator<int> abandoned = Numbers.Upto(9).GetEnumerator();
        abandoned.MoveNext();
        try
        {
            Console.WriteLine($"never {Numbers.Upto(-1).First()}");
        }
        catch (ArgumentOutOfRangeException e)
        {
            Console.WriteLine($"counting: {e.ParamName}");
        }
    }

    private static async Task TicksAsync()
    {
        int sum = 0;
        await foreach (int tick in Numbers.TicksAsync(3))
        {
            sum += tick;
        }
        await foreach (int tick in Numbers.TicksAsync(10))
        {
            sum += tick;
            break;
        }
        Console.WriteLine($"ticks {sum}");
    }

    private static void Generics()
    {
        var pair = new Pair<string, int>("a", 1).Swap();
        Console.WriteLine($"{pair} {pair.Map(n => n + 1)} {new Pair<Money, object>(new Money(1), "x").Swap()}");
        Console.WriteLine($"sums {Numbers.Sum<int>([1, 2, 3])} {Numbers.Sum<double>([0.5, 0.25])} {Zero<Money>()}");
    }

    private static T Zero<T>()
        where T : IZero<T>
    {
        return T.Zero;
    }

    private static void Spans()
    {
        int words = 0, longest = 0;
        foreach (ReadOnlySpan<char> word in new Words("spans are  not boxed"))
        {
            words++;
            longest = Math.Max(longest, word.Length);
        }
        int[] numbers = [5, 3, 9];
        ref int largest = ref Words.Largest(numbers);
        largest = 0;
        Console.WriteLine($"{words} words, the longest {longest}; {string.Join(",", numbers)}");
    }

    /// <summary>A filter that says no, one that says yes, and a finally that always runs.</summary>
    private static string Filtered(int n)
    {
        string trail = "";
        try
        {
            trail += Risky(n);
        }
        catch (InvalidOperationException e) when (IsKnown(e, ref trail))
        {
            trail += "caught";
        }
        catch (ArgumentException)
        {
            trail += "argument";
        }
        finally
        {
            trail += "!";
        }
        return trail;
    }

    private static bool IsKnown(Exception e, ref string trail)
    {
        trail += "?";
        return e.Message == "known";
    }

    private static string Risky(int n) => n switch
    {
        1 => throw new InvalidOperationException("known"),
        2 => throw new ArgumentException("two"),
        _ => "fine",
    };

    private static void Locked()
    {
        var gate = new object();
        int count = 0;
        void Add(int n)
        {
            lock (gate)
            {
                count += n;
            }
        }
        static int Twice(int n) => 2 * n;
        var threads = Enumerable.Range(1, 3).Select(i => new Thread(() => Add(Twice(i))) { Name = $"clerk {i}" }).ToList();
        threads.ForEach(t => t.Start());
        threads.ForEach(t => t.Join());
        Console.WriteLine($"added {count}");
    }

    private static void Members()
    {
        var stock = new Stock { Place = " shelf " };
        stock["tea"] = 5;
        IPlace place = stock;
        Console.WriteLine($"{stock.Place}: {stock["tea"]} {place.Describe()} {stock.TryTake("tea", out int left)} {left}");
        (int cents, string name) = new Order("jam", 2, 120);
        Console.WriteLine($"{name} {cents}");
    }

    private static void Finalized()
    {
        Leave();
        for (int i = 0; i < 10 && Leftover.Finalized == 0; i++)
        {
            GC.Collect();
            GC.WaitForPendingFinalizers();
        }
        Console.WriteLine($"finalized {Leftover.Finalized}");
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Leave()
    {
        _ = new Leftover();
    }
}
