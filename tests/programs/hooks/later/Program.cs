using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;
using acme;

namespace app {
public class Box<T> {
    private readonly T value;
    public Box(T value) { this.value = value; }
    public async Task<KeyValuePair<T, U>> Pair<U>(U other) {
        await Task.Yield();
        return new KeyValuePair<T, U>(value, other);
    }
}

public struct Money {
    public int Cents;
    public async Task<int> Doubled(int by) {
        await Task.Delay(5);
        return Cents * by;
    }
    public override string ToString() { return Cents + " cents"; }
}

public class Later {
    public async Task<string> Answer(string s, int n) {
        Late.Say("  runs " + s);
        await Task.Delay(20);
        string was = s;
        s = "overwritten";
        return was + n;
    }

    public static async Task Nothing(long n) {
        await Task.Yield();
        Late.Say("  in nothing " + n);
    }

    public static async Task<int> AtOnce(int n) { return n + 1; }

    public async Task<int> Fails(int n) {
        await Task.Delay(5);
        throw new ArgumentException("no " + n);
    }

    public static async Task<int> FailsAtOnce(int n) { throw new ArgumentException("at once " + n); }

    public static async Task<int> Cancelled(CancellationToken token) {
        await Task.Delay(1000, token);
        return 1;
    }

    public static async Task<string> Changed(string s) {
        await Task.Yield();
        return s + "!";
    }

    public static async Task<string> BadHook(string s) {
        await Task.Yield();
        return s;
    }

    public static async Task<int> Translated(string s) {
        await Task.Yield();
        throw new FormatException(s);
    }

    public async Task<int> Timed(int n) {
        for (int i = 0; i < 3; i++) {
            n += await AtOnce(i);
        }
        await Task.Delay(5);
        return n;
    }

    private int failures;
    public async Task<int> Flaky(int n) {
        await Task.Yield();
        if (failures++ < 2) { throw new Exception("failure " + failures); }
        return n;
    }

    public async void Void(Task begin) {
        await begin;
        Late.Say("  void runs");
    }

#if NET
    public static async ValueTask<int> Value(int n) {
        await Task.Yield();
        return n + 1;
    }

    public static async ValueTask Valueless(int n) {
        if (n > 1) { await Task.Yield(); }
        throw new ArgumentException("valueless " + n);
    }

    public static async IAsyncEnumerable<int> Stream(int n) {
        for (int i = 0; i < n; i++) { await Task.Yield(); yield return i; }
    }

    private static async Task Values() {
        await Try(() => Value(1).AsTask());
        await Try(async () => { await Valueless(1); return 1; });
        await Try(async () => { await Valueless(2); return 1; });
        await foreach (int n in Stream(2)) { Late.Say("= " + n); }
    }

    private static Task Streams() { return Enumerated.Streams(); }
#else
    private static Task Values() { return Task.CompletedTask; }
    private static Task Streams() { return Task.CompletedTask; }
#endif

    public static IEnumerable<int> Numbers(int n) {
        Late.Say("  numbers run");
        for (int i = 1; i <= n; i++) { yield return i; }
    }

    public static async Task<int> Inside(int n) {
        Late.Say("  inside " + await AtOnce(n));
        return n;
    }

    public override string ToString() { return "a Later"; }

    private static async Task Try<T>(Func<Task<T>> run) {
        try {
            Late.Say("= " + await run());
        } catch (Exception e) {
            Late.Say("= " + e.GetType().Name + ": " + e.Message);
        }
    }

    private static async Task All() {
        Later later = new Later();
        await Try(() => later.Answer("a", 1));
        Task both = Task.WhenAll(Nothing(1), Task.CompletedTask);
        await both;
        await Try(() => AtOnce(1));
        await Try(() => later.Fails(2));
        await Try(() => FailsAtOnce(3));
        await Try(() => Cancelled(new CancellationToken(true)));
        await Try(() => Changed("word"));
        await Try(() => BadHook("as it was"));
        await Try(() => Translated("text"));
        await Try(() => later.Timed(5));
        await Try(() => later.Flaky(7));
        await Try(() => new Box<string>("b").Pair(4));
        await Try(() => new Box<long>(5).Pair(Guid.Empty));
        await Try(() => new Money { Cents = 21 }.Doubled(2));
        await Try(() => Inside(9));
        var begin = new TaskCompletionSource<int>();
        later.Void(begin.Task);
        begin.SetResult(1);
        while (!Late.Said("< Void1 = nothing")) {
            await Task.Delay(1);
        }
        Late.Say("= " + string.Join(" ", Numbers(3)));
        await Values();
        var lazy = Numbers(1);
        Late.Say("= asked for");
        foreach (int n in lazy) { Late.Say("= " + n); }
        Enumerated.All();
        await Streams();
    }

    public static int Main() {
        All().Wait();
        Late.Lines.ForEach(Console.WriteLine);
        return 0;
    }
}
}
