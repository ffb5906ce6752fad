using System;
using System.Collections.Generic;
using System.Numerics;
using System.Threading.Tasks;

namespace Shop;

/// <summary>Iterators, and arithmetic on any numbers.</summary>
public static class Numbers
{
    public static IEnumerable<int> Upto(int n)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(n);
        for (int i = 1; i <= n; i++)
        {
            yield return i;
        }
    }

    public static async IAsyncEnumerable<int> TicksAsync(int n)
    {
        for (int i = 1; i <= n; i++)
        {
            await Task.Delay(5);
            yield return i;
        }
    }

    public static T Sum<T>(ReadOnlySpan<T> values)
        where T : INumber<T>
    {
        T sum = T.Zero;
        foreach (T value in values)
        {
            sum += value;
        }
        return sum;
    }
}

/// <summary>Two values.</summary>
public readonly struct Pair<A, B>
{
    private readonly A first;
    private readonly B second;

    public Pair(A first, B second)
    {
        this.first = first;
        this.second = second;
    }

    public Pair<B, A> Swap() => new(second, first);

    public Pair<C, B> Map<C>(Func<A, C> to) => new(to(first), second);

    public override string ToString() => $"<{first} {second}>";
}

/// <summary>The words of a text, without copies.</summary>
public ref struct Words
{
    private ReadOnlySpan<char> rest;

    public Words(string text)
    {
        rest = text;
        Current = default;
    }

    public ReadOnlySpan<char> Current { get; private set; }

    public readonly Words GetEnumerator() => this;

    public bool MoveNext()
    {
        rest = rest.TrimStart();
        int end = rest.IndexOf(' ');
        Current = end < 0 ? rest : rest[..end];
        rest = rest[Current.Length..];
        return Current.Length > 0;
    }

    /// <summary>Gives a reference into what it is given.</summary>
    public static ref int Largest(Span<int> numbers)
    {
        ref int largest = ref numbers[0];
        for (int i = 1; i < numbers.Length; i++)
        {
            if (numbers[i] > largest)
            {
                largest = ref numbers[i];
            }
        }
        return ref largest;
    }
}
