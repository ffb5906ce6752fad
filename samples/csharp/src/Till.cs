using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Threading;
using System.Threading.Tasks;

namespace Shop;

/// <summary>An amount. A record, so that compilers add to it.</summary>
public readonly record struct Money(int Cents) : IZero<Money>
{
    public static Money Zero => default;

    public static Money operator +(Money a, Money b) => new(a.Cents + b.Cents);
}

/// <summary>Something with a zero.</summary>
public interface IZero<T>
{
    static abstract T Zero { get; }
}

/// <summary>What is bought. With a primary constructor.</summary>
public sealed class Order(string name, int count, int cents)
{
    public string Name { get; } = name;

    public int Count => count;

    public Money Price => new(count * cents);

    public void Deconstruct(out int cents, out string name)
    {
        cents = Price.Cents;
        name = Name;
    }
}

/// <summary>Where things are paid.</summary>
public sealed class Till
{
    private readonly SemaphoreSlim one = new(1);
    private string name = "";

    public string Name
    {
        get => name;
        init => name = value.Trim();
    }

    public Money Total { get; private set; }

    /// <summary>Nested awaits, the inner of which waits for the bank.</summary>
    public async Task<int> PayAsync(Order order)
    {
        await one.WaitAsync();
        try
        {
            int fee = await BankAsync(order).ConfigureAwait(false);
            Total += order.Price;
            return order.Price.Cents + fee;
        }
        finally
        {
            one.Release();
        }
    }

    private static async Task<int> BankAsync(Order order)
    {
        await Task.Delay(80);
        if (order.Count == 0)
        {
            throw new InvalidOperationException($"{order.Name} cannot be paid");
        }
        return 1;
    }

    public static async Task WaitAsync(CancellationToken token)
    {
        await Task.Delay(Timeout.Infinite, token);
    }

    /// <summary>Watches until it is told to stop: nothing in it returns.</summary>
    public static async Task WatchAsync(CancellationToken token)
    {
        for (; ; )
        {
            await Task.Delay(5, token);
        }
    }

    public static async Task<int> DeliverAsync(int number)
    {
        await Task.Delay(100);
        return number;
    }

    /// <summary>Works, waits, and works again.</summary>
    public static async Task<int> WorkAsync()
    {
        int turns = Spin(30);
        await Task.Delay(60);
        return Math.Sign(turns + Spin(30));
    }

    /// <summary>Keeps a core busy.</summary>
    private static int Spin(int milliseconds)
    {
        int turns = 0;
        for (var clock = Stopwatch.StartNew(); clock.ElapsedMilliseconds < milliseconds; turns++)
        {
            Thread.SpinWait(50);
        }
        return turns;
    }
}

/// <summary>A place that says what it is.</summary>
public interface IPlace
{
    string Place { get; }

    string Describe() => $"[{Place}]";
}

/// <summary>How much there is of what.</summary>
public sealed class Stock : IPlace
{
    private readonly Dictionary<string, int> counts = [];
    private string place = "";

    public string Place
    {
        get => place;
        init => place = value.Trim();
    }

    public int this[string name]
    {
        get => counts.TryGetValue(name, out int n) ? n : 0;
        set => counts[name] = value;
    }

    /// <summary>Waits the first time; after that it has the answer at once.</summary>
    public async ValueTask<int> CountAsync(string name)
    {
        if (counts.TryGetValue(name, out int known))
        {
            return known;
        }
        await Task.Delay(10);
        return counts[name] = 7;
    }

    public bool TryTake(string name, out int left)
    {
        left = this[name] - 1;
        if (left < 0)
        {
            return false;
        }
        this[name] = left;
        return true;
    }
}

/// <summary>Something whose finalizer runs.</summary>
public sealed class Leftover
{
    public static int Finalized;

    ~Leftover()
    {
        Interlocked.Increment(ref Finalized);
    }
}
