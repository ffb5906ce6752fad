using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Threading.Tasks;
using Wire;

namespace app {
public class Derived : Base {
    private Parameters parameters;
    private Keeper keeper = new Keeper();
    public int OfStruct() { parameters.V = 7; var copy = parameters; return copy.V; }
    public int OfClass() { var copy = keeper; return copy.V; }
    private static Parameters Make(int n) { Parameters made = default; made.V = n; return made; }
    public int Made() { return Make(7).V; }
}

public static class Odd {
    private static readonly int[] array = { 5 };
    private static readonly List<string> lines = new List<string>();

    public static int Take(Reader reader) {
        int sum = 0;
        while (reader.At < reader.Data.Length) { sum += reader.Next(); }
        return sum;
    }

    public static Reader Make(byte[] bytes) {
        if (bytes.Length == 0) { throw new ArgumentException("bytes"); }
        return new Reader { Data = bytes };
    }

    public static int Sum(Plain plain, int k) {
        int sum = plain.X;
        for (int i = 0; i < k; i++) { sum += i; }
        return sum;
    }

    public static int SumOf(ReadOnlySpan<int> span) {
        int sum = 0;
        foreach (int n in span) { sum += n; }
        return sum;
    }

    public static unsafe int At(int* pointer, int n) { return pointer == null ? n : pointer[n]; }

    public static void Swap(ref int a, out int b) { b = a; a = 1; }

    public static ref int Find(int n) {
        if (n == 5) { return ref array[0]; }
        return ref Unsafe.NullRef<int>();
    }

    public static bool Left(ref int r, int n) { return n <= 100 && Unsafe.IsNullRef(ref r); }

    public static bool LeftText(ref string r, int n) { return n <= 100 && Unsafe.IsNullRef(ref r); }

    public static ref T Generic<T>(int n) {
        if (n > 100) { throw new Exception(); }
        return ref Unsafe.NullRef<T>();
    }

    public static IEnumerable<int> Numbers(int n) { for (int i = 0; i < n; i++) { yield return i; } }

    public static IEnumerable<int> Cleans(int n, bool fails) {
        try {
            for (int i = 0; i < n; i++) { yield return i; }
            if (fails) { throw new FormatException("cleans " + n); }
        } finally {
            lines.Add("cleaned");
        }
    }

    public static async IAsyncEnumerable<int> Stream(int n) {
        for (int i = 0; i < n; i++) { await Task.Yield(); yield return i; }
    }

    private static void Say(string what, Func<object> run) {
        try {
            lines.Add(what + " " + run());
        } catch (Exception e) {
            lines.Add(what + " " + e.GetType().Name);
        }
    }

    private static int Swapped() { int a = 3; Swap(ref a, out int b); return 10 * a + b; }

    private static unsafe int Nowhere() { return At(null, 4); }

    private static int All(IEnumerable<int> all, int most) {
        int count = 0;
        foreach (int n in all) { if (++count == most) { break; } }
        return count;
    }

    private static async Task Streamed() {
        int sum = 0;
        await foreach (int n in Stream(4)) { sum += n; }
        lines.Add("stream " + sum);
    }

    public static int Main() {
        Say("take", () => Take(new Reader { Data = new byte[] { 1, 2, 3 } }));
        Say("make", () => Make(new byte[] { 1 }).Next());
        Say("make none", () => Make(new byte[0]).At);
        Say("sum", () => Sum(new Plain { X = 5 }, 3));
        Say("span", () => SumOf(new[] { 1, 2 }));
        Say("pointer", () => Nowhere());
        Say("swapped", () => Swapped());
        Say("found", () => Find(5));
        Say("not found", () => Unsafe.IsNullRef(ref Find(1)));
        Say("left out", () => Left(ref Unsafe.NullRef<int>(), 1));
        Say("left out text", () => LeftText(ref Unsafe.NullRef<string>(), 1));
        Say("generic", () => Unsafe.IsNullRef(ref Generic<string>(1)));
        Say("struct", () => new Derived().OfStruct());
        Say("class", () => new Derived().OfClass());
        Say("made", () => new Derived().Made());
        var numbers = Numbers(3);
        for (int i = 0; i < 3; i++) { Say("numbers", () => All(numbers, 2 + i)); }
        Say("cleans", () => All(Cleans(2, false), 9));
        Say("cleans half", () => All(Cleans(2, false), 1));
        Say("cleans badly", () => All(Cleans(2, true), 9));
        Streamed().Wait();
        lines.ForEach(Console.WriteLine);
        return 0;
    }
}
}
