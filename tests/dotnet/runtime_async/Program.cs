using System.Runtime.CompilerServices;

public static class Program
{
    static int failures;

    public static async Task<int> Main()
    {
        var shapes = new Shapes();
        for (int round = 0; round < 3; round++)
        {
            Expect(await shapes.Done(2), 2);
            await shapes.Waits(20);
            Expect(await shapes.Result(20), 20);
            await shapes.Nothing();
            Expect(await shapes.Value(7), 7);
            Expect(await shapes.ValueDone(7), 7);
            Expect(await shapes.Generic("a"), "a");
            Expect(await new Box<string>().Keep("b"), "b");
            Expect(await shapes.Chain(4), 10);
            Expect(await shapes.CatchesAndAwaits(), "caught");
            Expect(await shapes.FinallyAwaits(), "tried");
            Expect(await shapes.AwaitsInTry(), 5);
            Expect(await shapes.Together(), 6);
            Expect(await shapes.Iterates(), 3);
            Expect(await shapes.Custom(), 9);
            Expect(await Outer(3), 3);
            Func<int, Task<int>> lambda = async n => { await Task.Delay(5); return n; };
            Expect(await lambda(11), 11);
            async ValueTask<int> Local(int n) { await Task.Yield(); return n; }
            Expect(await Local(12), 12);
            await Fails(shapes.Throws);
            await Fails(shapes.ThrowsAtOnce);
            await Fails(shapes.Passes);
            await Fails(() => shapes.Cancelled(new CancellationTokenSource(10).Token));
            Expect(Sync(shapes), 0);
        }
        Console.WriteLine(failures == 0 ? "ok" : failures + " failures");
        return failures;
    }

    static async Task Fails(Func<Task> run)
    {
        try
        {
            await run();
            failures++;
        }
        catch (Exception e) when (e is InvalidOperationException || e is OperationCanceledException)
        {
        }
    }

    static void Expect<T>(T got, T wanted)
    {
        if (!EqualityComparer<T>.Default.Equals(got, wanted))
        {
            failures++;
            Console.WriteLine("got " + got + ", wanted " + wanted);
        }
    }

    // The thread comes back here while what was begun is suspended, and goes on with calls of its own.
    static int Sync(Shapes shapes)
    {
        Task<int> first = shapes.Chain(2);
        Task<int> second = Begun(shapes);
        int n = Plain(1);
        Task.WaitAll(first, second);
        return n;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Plain(int n)
    {
        for (int i = 0; i < 10; i++)
        {
            n ^= i;
        }
        return n - 1 + 1;
    }

    static async Task<int> Begun(Shapes shapes)
    {
        Task<int> task = shapes.Result(10);
        Plain(2);
        return await task;
    }

    static async Task<int> Outer(int n)
    {
        int inner = await Middle(n);
        return inner;
    }

    static async Task<int> Middle(int n) => await Inner(n);

    static async Task<int> Inner(int n)
    {
        await Task.Delay(10);
        return n;
    }
}

public class Shapes
{
    public async Task<int> Done(int n) { Touch(n); return n; }
    public async Task Waits(int ms) { await Task.Delay(ms); Touch(ms); }
    public async Task<int> Result(int ms) { await Task.Delay(ms).ConfigureAwait(false); Touch(ms); return ms; }
    public async ValueTask Nothing() { await Task.CompletedTask; Touch(1); }
    public async ValueTask<int> Value(int n) { await Task.Yield(); Touch(n); return n; }
    public async ValueTask<int> ValueDone(int n) { Touch(n); return n; }
    public async Task<T> Generic<T>(T value) { await Task.Delay(2); Touch(1); return value; }

    public async Task<int> Chain(int depth)
    {
        if (depth == 0) { await Task.Delay(3); return 0; }
        int rest = await Chain(depth - 1);
        Touch(depth);
        return depth + rest;
    }

    public async Task<string> CatchesAndAwaits()
    {
        try { await Throws(); return "no"; }
        catch (InvalidOperationException) { await Task.Delay(2); return "caught"; }
    }

    public async Task<string> FinallyAwaits()
    {
        try { Touch(1); return "tried"; }
        finally { await Task.Delay(2); }
    }

    public async Task<int> AwaitsInTry()
    {
        int n = 0;
        try { n = await Value(5); }
        finally { Touch(n); }
        return n;
    }

    public async Task<int> Together()
    {
        int[] all = await Task.WhenAll(Chain(1), Chain(2), Chain(1));
        return all.Sum() + 1;
    }

    // An async iterator is a state machine either way.
    async IAsyncEnumerable<int> Count(int n)
    {
        for (int i = 0; i < n; i++) { await Task.Delay(1); yield return i; }
    }

    public async Task<int> Iterates()
    {
        int n = 0;
        await foreach (int i in Count(3)) { n++; }
        return n;
    }

    public async Task<int> Custom() { return await new Later(9); }
    public async Task Throws() { await Task.Delay(2); throw new InvalidOperationException("late"); }
    public async Task ThrowsAtOnce() { Touch(1); throw new InvalidOperationException("early"); }
    public async Task Passes() { await Throws(); }
    public async Task Cancelled(CancellationToken token) { await Task.Delay(5000, token); }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Touch(int n)
    {
        for (int i = 0; i < 3; i++) { n += i; }
        return n;
    }
}

public class Box<T>
{
    public async ValueTask<T> Keep(T value) { await Task.Delay(2); Shapes.Touch(1); return value; }
}

public class Later
{
    readonly int value;
    public Later(int value) { this.value = value; Shapes.Touch(value); }
    public Awaiter GetAwaiter() => new Awaiter(value);

    public struct Awaiter : INotifyCompletion
    {
        readonly int value;
        public Awaiter(int value) { this.value = value; }
        public bool IsCompleted => false;
        public int GetResult() => value;
        public void OnCompleted(Action then) { ThreadPool.QueueUserWorkItem(_ => then()); }
    }
}
