using System;
using System.Collections;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;
using acme;

namespace app {
/// <summary>Iterators that end in each way that there is.</summary>
public class Enumerated {
    public static IEnumerable<int> Plain(int n) {
        for (int i = 1; i <= n; i++) { yield return i; }
        n = -1;
    }

    public static IEnumerable<int> Cleans(int n, bool fails) {
        try {
            for (int i = 1; i <= n; i++) { yield return i; }
            if (fails) { throw new ArgumentException("after " + n); }
        } finally {
            Late.Say("  cleaned");
        }
    }

    public static IEnumerable<int> CleansBadly(int n) {
        try {
            yield return n;
        } finally {
            throw new FormatException("unclean " + n);
        }
    }

    public IEnumerator<string> Words(string word) {
        yield return word;
        yield return word + this;
    }

    public static IEnumerable Objects(int n) { yield return n; }

    public static IEnumerable<int> Other(int n) {
        yield return n;
        throw new FormatException("at " + n);
    }

    public static IEnumerable<int> Uncounted(int n) {
        yield return n;
    }

    public override string ToString() { return "!"; }

    public static string Drain(IEnumerable<int> all, int most) {
        int count = 0;
        try {
            foreach (int n in all) {
                Late.Say("= " + n);
                if (++count == most) { return "left"; }
            }
            return "all";
        } catch (Exception e) {
            return e.GetType().Name + ": " + e.Message;
        }
    }

    private static void Twice(IEnumerable<int> plain) {
        Late.Say("= " + Drain(plain, 9));
        Late.Say("= again " + Drain(plain, 9));
    }

    public static void All() {
        Twice(Plain(2));
        Late.Say("= " + Drain(Plain(3), 1));
        Late.Say("= " + Drain(Plain(0), 1));
        Late.Say("= " + Drain(Cleans(2, false), 9));
        Late.Say("= " + Drain(Cleans(2, false), 1));
        Late.Say("= " + Drain(Cleans(1, true), 9));
        Late.Say("= " + Drain(CleansBadly(1), 1));
        var elsewhere = Plain(1);
        var thread = new Thread(() => Late.Say("= elsewhere " + Drain(elsewhere, 9)));
        thread.Start();
        thread.Join();
        Late.Say("= here " + Drain(elsewhere, 9));
        using (var unmoved = Plain(7).GetEnumerator()) { Late.Say("= unmoved"); }
        using (var words = new Enumerated().Words("w")) {
            while (words.MoveNext()) { Late.Say("= " + words.Current); }
            Late.Say("= more " + words.MoveNext());
        }
        foreach (object o in Objects(4)) { Late.Say("= " + o); }
        Late.Say("= " + Drain(new Bag<string>("in").Items(2, (byte)3), 9));
        Late.Say("= " + Drain(new Purse { Cents = 5 }.Coins(2), 9));
        Late.Say("= " + Drain(Other(6), 9));
        Late.Say("= " + Drain(Uncounted(8), 9));
    }

#if NET
    public static async IAsyncEnumerable<int> Stream(int n, bool fails) {
        try {
            for (int i = 1; i <= n; i++) { await Task.Yield(); yield return i; }
            if (fails) { throw new ArgumentException("stream " + n); }
        } finally {
            await Task.Yield();
            Late.Say("  closed");
        }
    }

    private static async Task<string> Drain(IAsyncEnumerable<int> all, int most) {
        int count = 0;
        try {
            await foreach (int n in all) {
                Late.Say("= " + n);
                if (++count == most) { return "left"; }
            }
            return "all";
        } catch (Exception e) {
            return e.GetType().Name + ": " + e.Message;
        }
    }

    public static async Task Streams() {
        var twice = Stream(1, false);
        Late.Say("= " + await Drain(twice, 9));
        Late.Say("= again " + await Drain(twice, 9));
        Late.Say("= " + await Drain(Stream(2, false), 1));
        Late.Say("= " + await Drain(Stream(1, true), 9));
        await using (Stream(3, false).GetAsyncEnumerator()) { Late.Say("= unmoved"); }
    }
#endif
}

public class Bag<T> {
    private readonly T value;
    public Bag(T value) { this.value = value; }
    public IEnumerable<int> Items<U>(int n, U other) {
        for (int i = 0; i < n; i++) { Late.Say("  " + value + other); yield return i; }
    }
}

public struct Purse {
    public int Cents;
    public IEnumerable<int> Coins(int by) { yield return Cents * by; }
    public override string ToString() { return Cents + " cents"; }
}
}
