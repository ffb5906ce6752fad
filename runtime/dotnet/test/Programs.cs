using System;
using System.Collections.Generic;
using System.IO;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;
using System.Threading.Tasks;
using Weave.Runtime;

/// <summary>Small programs as if woven, each run in a process of its own. suite.py says what its trace must hold.</summary>
public static class Programs
{
    public static int Main(string[] arguments)
    {
        MethodInfo program = typeof(Programs).GetMethod(arguments[0], BindingFlags.Static | BindingFlags.NonPublic);
        ((Action)program.CreateDelegate(typeof(Action)))();
        Console.WriteLine("done");
        return 0;
    }

    /// <summary>So many calls, three deep.</summary>
    private static void Calls(int n)
    {
        for (int i = 0; i < n; i++)
        {
            Hooks.Enter(1);
            Hooks.Enter(2);
            Hooks.Enter(-3);
            Hooks.Exit(-3);
            Hooks.Exit(2);
            Hooks.Exit(1);
        }
    }

    /// <summary>What rules record of drivers.</summary>
    private static void Drivers()
    {
        foreach (string text in new[] { "select * from orders where id = 7", " /* x */ (SELECT 1)", "INSERT INTO shop.orders VALUES ('geheim')",
            "select * from a join b on a.x = b.x", "delete from a where x in (select x from a)", "", "'", "1 2", new string('x', 30) })
        {
            Console.WriteLine((Sql.Operation(text) ?? "-") + " " + (Sql.Collection(text) ?? "-") + " " + Sql.Sanitized(text));
        }
        Console.WriteLine(Sql.Operation(new object()) == null && Sql.Of(null) == null && Sql.Procedure("x") == null);
        foreach (string text in new[] { "127.0.0.1,41271", "tcp:host\\instance,1433", "Unspecified/localhost:6379", "[::1]:6379", "::1", "db", "tcp://u:p@db:5432/shop",
            ".", "(local)", "(DESCRIPTION=(HOST=x))", "x:y", "x:70000", "/run/redis.sock", "Host=x;Password=geheim", "" })
        {
            Console.WriteLine((Peers.Address(text) ?? "-") + " " + (Peers.Port(text) ?? "-"));
        }
        Console.WriteLine(Peers.Address(new System.Net.IPEndPoint(System.Net.IPAddress.Loopback, 80)) + " " + Peers.Port(new System.Net.DnsEndPoint("db", 81))
            + " " + (Peers.Address(new object()) ?? "-"));
        Console.WriteLine((Redis.Operation("get k") ?? "-") + " " + (Redis.Operation("PING") ?? "-") + " " + (Redis.Operation("") ?? "-") + " " + (Redis.Operation(null) ?? "-"));
    }

    private static void Listens()
    {
        Activities.Listen("Npgsql");
        Activities.Listen("System.Net.Http");
        Calls(1);
    }

    /// <summary>How many of 1,000 traces that begin are recorded, and whether what goes out says so; then what becomes of those that come in.</summary>
    private static void Sampler()
    {
        int taken = 0;
        bool sound = true;
        for (int i = 0; i < 1000; i++)
        {
            int state = Spans.Decide(0, null, null, 7);
            Spans.Begin(state, 2, null, 7);
            bool isTaken = Spans.Header(0).EndsWith("-03", StringComparison.Ordinal);
            string share = Spans.Header(1);
            // The id alone decides (56 bits of it), as in any other process.
            string last = Spans.TraceId().Substring(18);
            sound &= share == null || isTaken && string.CompareOrdinal(last, (share.Substring(6) + "00000000000000").Substring(0, 14)) >= 0;
            int inner = Spans.Decide(0, null, null, 8);
            sound &= inner == 0 != isTaken;
            Spans.Begin(inner, 1, null, 8);
            sound &= Spans.Header(0).EndsWith(isTaken ? "-03" : "-02", StringComparison.Ordinal) && share == Spans.Header(1);
            Spans.Exit(inner, 8);
            Spans.Exit(state, 7);
            taken += isTaken ? 1 : 0;
        }
        Console.WriteLine(taken + (sound ? " sound" : " unsound"));
        foreach (string line in File.ReadAllLines("cases"))
        {
            int state = Spans.Decide(0, null, Spans.Came(null, 0, line.Substring(line.IndexOf('=') + 1)), 7);
            Spans.Begin(state, 2, null, 7);
            Console.WriteLine(Spans.Header(0).Substring(54));
            Spans.Exit(state, 7);
        }
    }

    /// <summary>Spans below headers that come in, a line of the file each (<c>name=value; name=value</c>): says what goes out from them.</summary>
    private static void Propagators()
    {
        foreach (string line in File.ReadAllLines("cases"))
        {
            var given = new Dictionary<string, string>();
            foreach (string header in line.Split(new[] { "; " }, StringSplitOptions.RemoveEmptyEntries))
            {
                given[header.Substring(0, header.IndexOf('='))] = header.Substring(header.IndexOf('=') + 1);
            }
            object came = null;
            for (int i = 0; i < 10; i++)
            {
                string name = Spans.Asks(i);
                string value;
                came = Spans.Came(came, i, name != null && given.TryGetValue(name, out value) ? value : null);
                if (Spans.AsksAgain(i) != (name ?? "traceparent"))
                {
                    throw new InvalidOperationException("asked again");
                }
            }
            int state = Spans.Decide(0, null, came, 7);
            Spans.Begin(state, 2, null, 7);
            var sent = new List<string>();
            for (int i = 0; i < 10; i++)
            {
                if (Spans.Header(i) != null)
                {
                    sent.Add(Spans.Sends(i) + "=" + Spans.Header(i));
                }
            }
            string trace = Spans.TraceId();
            string said = string.Join("; ", sent.ToArray()).Replace(Spans.SpanId(), "*");
            if (!line.Replace("-", "").Contains(trace.TrimStart('0')))
            {
                said = said.Replace(trace, "new").Replace(trace.Substring(0, 8) + "-" + trace.Substring(8), "new");
            }
            Console.WriteLine(said);
            Spans.Exit(state, 7);
            if (Spans.TraceId() != null)
            {
                throw new InvalidOperationException("a context is left");
            }
        }
    }

    private static int Span(object came, int id)
    {
        int state = Spans.Decide(0, null, came, id);
        Spans.Begin(state, 5, null, id);
        return state;
    }

    private static void Holds(bool isSo, string what)
    {
        if (!isSo)
        {
            throw new InvalidOperationException(what);
        }
    }

    private sealed class Throwing : System.Collections.ArrayList
    {
        public override System.Collections.IEnumerator GetEnumerator()
        {
            throw new InvalidOperationException("unruly");
        }
    }

    /// <summary>Contexts that go with objects: what is taken, until when, and how many links a span has.</summary>
    private static void GoWithObjects()
    {
        object came = Spans.Came(null, 0, "00-4bf92f3577b34da6a300000000000000-00f067aa0ba902b7-01");
        var all = new List<object>();
        for (int i = 0; i < 3000; i++)
        {
            int state = Span(null, 7);
            all.Add(new object());
            Queued.Give(all[i]);
            Spans.Exit(state, 7);
        }
        var none = new object();
        Queued.Give(none);
        Queued.Give(null);
        object method = Queued.Open();
        int outer = Span(null, 8);
        string own = Spans.SpanId();
        Queued.Take(all[0]);
        string first = Spans.SpanId();
        Holds(first != own, "taken");
        object within = Queued.Open();
        int inner = Span(null, 9);
        Queued.Take(all[1]);
        Holds(Spans.SpanId() != first, "taken within");
        Queued.Take(all[2]);
        Queued.Take(none);
        int innermost = Span(null, 9);
        Queued.Take(null);
        Queued.Take(all[3]);
        Spans.Exit(innermost, 9);
        Spans.Exit(inner, 9);
        Queued.Done(within);
        Holds(Spans.SpanId() == first, "what was taken around goes on");
        object lost = Queued.Open();
        Queued.Take(all[4]);
        Span(null, 9); // whose end is lost
        Queued.Done(lost);
        Holds(Spans.SpanId() == first, "a method within is over");
        Queued.Take(none);
        Holds(Spans.SpanId() == own, "an object without a context takes none");
        Queued.Take(all[1]);
        Spans.Exit(outer, 8);
        Holds(Spans.SpanId() == null, "over with the span");
        Queued.Done(method);
        Holds(Spans.SpanId() == null, "over with the method");
        object turn = Queued.Begin(all[0]);
        Holds(Spans.SpanId() == first, "a method runs in it");
        Task<string> begun = Task.Run(() => Spans.SpanId());
        Holds(begun.Result == first, "and what it begins");
        Queued.Done(turn);
        Queued.Done(turn);
        Queued.Done(Queued.Begin(none));
        Holds(Spans.SpanId() == null, "and nothing behind it");
        TakesLater(all).Wait();
        Holds(Spans.SpanId() == null, "what an async method takes is over with it");
        Queued.Give(all[0]);
        Holds(Queued.Begin(all[0]) == null, "given again, without a context");
        Spans.Exit(Span(Queued.Link(came), 10), 10);
        Spans.Exit(Span(Queued.Links(Queued.Link(came), all), 11), 11);
        Spans.Exit(Span(Queued.Links(null, all.ToArray()), 11), 11);
        Spans.Exit(Span(Queued.Links(null, new HashSet<object>(all)), 11), 11);
        Spans.Exit(Span(Queued.Links(null, new Throwing()), 12), 12);
        Spans.Exit(Span(Queued.Parent(came, all[5]), 13), 13);
        Holds(Queued.Link(Spans.Came(null, 0, "00-hostile")) == null, "what is none is no link");
        Forgotten();
    }

    /// <summary>An async method that takes at calls has no begin and no end for the library.</summary>
    private static async Task TakesLater(List<object> all)
    {
        await Task.Yield();
        Queued.Take(all[1]);
        string first = Spans.SpanId();
        await Task.Delay(1);
        Holds(first != null && Spans.SpanId() == first, "over an await");
        Queued.Take(all[2]);
        Holds(Spans.SpanId() != first, "in its place");
        Queued.Take(null);
        Holds(Spans.SpanId() == null, "none");
        Queued.Take(all[3]);
    }

    /// <summary>More objects than there may be at once: those that nobody holds make room.</summary>
    private static void Forgotten()
    {
        int span = Span(null, 7);
        for (int i = 0; i < 300000; i++)
        {
            Queued.Give(new object());
        }
        bool given = false;
        for (int i = 0; i < 1000 && !given; i++)
        {
            GC.Collect();
            GC.WaitForPendingFinalizers();
            var o = new object();
            Queued.Give(o);
            object begun = Queued.Begin(o);
            given = begun != null;
            Queued.Done(begun);
        }
        Holds(given, "what nobody holds is forgotten");
        Spans.Exit(span, 7);
    }

    /// <summary>So many calls of each of three methods that are only counted.</summary>
    private static void Counted(int n)
    {
        for (int i = 0; i < n; i++)
        {
            Hooks.Count(1);
            Hooks.Count(2);
            Hooks.Count(-3);
        }
    }

    /// <summary>Threads that live and threads that die count, between records and in what they call.</summary>
    private static void Counts()
    {
        Counted(100000);
        Calls(100);
        var done = new CountdownEvent(8);
        for (int i = 0; i < 8; i++)
        {
            var t = new Thread(() =>
            {
                Counted(5000);
                for (int id = 1; id <= 6000; id++)
                {
                    for (int k = 0; k < id && k < 3; k++)
                    {
                        Hooks.Count(id << 16);
                    }
                }
                done.Signal();
                Thread.Sleep(Timeout.Infinite);
            }) { IsBackground = true };
            t.Start();
        }
        done.Wait();
        for (int i = 0; i < 300; i++)
        {
            var t = new Thread(() => Counted(10));
            t.Start();
            t.Join();
        }
        // What a description of an exception calls is neither recorded nor counted.
        Hooks.Enter(9);
        Hooks.Error(new Counting(), 9);
    }

    /// <summary>Calls that are summed up, recorded and counted within one another, in one outermost one.</summary>
    private static void Summed(int n)
    {
        Hooks.Start(10);
        for (int i = 0; i < n; i++)
        {
            Hooks.Start(1);
            Hooks.Start(2);
            Hooks.Stop(2);
            if (i % 4 == 0)
            {
                Hooks.Enter(3);
                Hooks.Start(2);
                Hooks.Stop(2);
                Hooks.Enter(4);
                Hooks.Start(5);
                Hooks.Stop(5);
                Hooks.Exit(4);
                Hooks.Exit(3);
            }
            if (i % 3 == 0)
            {
                Hooks.Start(5);
                Hooks.Failed(null, 5);
            }
            Hooks.Count(11);
            Hooks.Stop(1);
        }
        for (int i = 0; i < 40; i++)
        {
            if (i < 20)
            {
                Hooks.Start(6);
            }
            else
            {
                Hooks.Stop(6);
            }
        }
        Hooks.Stop(10);
    }

    /// <summary>Threads that live and threads that die sum up; where more is open than there is room for, or the library itself calls.</summary>
    private static void Sums()
    {
        Summed(20000);
        var done = new CountdownEvent(8);
        for (int i = 0; i < 8; i++)
        {
            var t = new Thread(() =>
            {
                Summed(1000);
                done.Signal();
                Thread.Sleep(Timeout.Infinite);
            }) { IsBackground = true };
            t.Start();
        }
        done.Wait();
        for (int i = 0; i < 100; i++)
        {
            var t = new Thread(() => Summed(12));
            t.Start();
            t.Join();
        }
        Hooks.Start(10);
        Hooks.Stop(99);
        for (int i = 0; i < 70000; i++)
        {
            Hooks.Start(7);
        }
        for (int i = 0; i < 70000; i++)
        {
            Hooks.Stop(7);
        }
        Hooks.Enter(13);
        Hooks.Error(new Summing(), 13);
        Hooks.Stop(10);
    }

    private sealed class Summing : Exception
    {
        public override string Message
        {
            get
            {
                Summed(1);
                return "m";
            }
        }
    }

    /// <summary>Sums up, and then stays without another hook.</summary>
    private static void SumsAndStays()
    {
        var t = new Thread(() => Summed(1200));
        t.Start();
        t.Join();
        Summed(120);
        Console.WriteLine("done");
        Thread.Sleep(60000);
    }

    private sealed class Counting : Exception
    {
        public override string Message
        {
            get
            {
                Counted(1000);
                return "m";
            }
        }
    }

    /// <summary>Counts, and then stays without another hook.</summary>
    private static void CountsAndStays()
    {
        var t = new Thread(() => Counted(12345));
        t.Start();
        t.Join();
        Counted(100);
        Console.WriteLine("done");
        Thread.Sleep(60000);
    }

    /// <summary>Far more records than the trace has room for, and counts before and after.</summary>
    private static void CountsAndMany()
    {
        Counted(1000);
        for (int i = 0; i < 100; i++)
        {
            Calls(1000);
            Counted(10);
        }
    }

    private static void Nothing()
    {
    }

    private sealed class Silent : Exception
    {
        public override string Message => throw new InvalidOperationException();
    }

    /// <summary>Hooks of one's own that fail, before there is a trace and then.</summary>
    private static void OwnHooksFail()
    {
        Guard.Failed(new ArgumentException("why"), "Acme.Sql.Begin");
        Calls(1);
        for (int i = 0; i < 3; i++)
        {
            Guard.Failed(new ArgumentException("again"), "Acme.Sql.Begin");
        }
        Guard.Failed(new Silent(), "Acme.Sql.End");
        Guard.Failed(new Exception(new string('x', 5000)), "Acme.Sql.Long");
        for (int i = 0; i < 2000; i++)
        {
            Guard.Failed(new Exception("n"), "Acme.Many." + i);
        }
        Guard.Failed(null, null);
    }

    /// <summary>Somebody cuts the trace off while threads record, more than once.</summary>
    private static void Truncated()
    {
        string path = Environment.GetEnvironmentVariable("WEAVE_TRACE");
        int rounds = 0;
        Calls(100);
        Together(2, () =>
        {
            for (int i = 0; i < 100; i++)
            {
                Calls(1000);
                Recorded(new object(), i);
                if (Interlocked.Increment(ref rounds) % 40 == 0)
                {
                    using (new FileStream(path, FileMode.Truncate, FileAccess.Write, FileShare.ReadWrite | FileShare.Delete))
                    {
                    }
                }
            }
        });
        Check(rounds == 200, "the program ran on");
    }

    private static void Recorded(object o, int n)
    {
        Values.Value(o, 1, 10, null, 1);
    }

    [DllImport("libc", EntryPoint = "close", SetLastError = true)]
    private static extern int Close(int file);

    private sealed class Reads
    {
        public override string ToString()
        {
            return File.Exists("/nothing here") ? "there" : "nothing";
        }
    }

    /// <summary>What native code has left there for the program is there still behind each kind of hook.</summary>
    private static void LastErrors()
    {
        const int BadFile = 9;
        // The system's own number, which generated code reads behind a call (.NET 6 and later).
        var read = (Func<int>)Delegate.CreateDelegate(typeof(Func<int>), typeof(Marshal), "GetLastSystemError", false, false) ?? (() => BadFile);
        var set = (Action<int>)Delegate.CreateDelegate(typeof(Action<int>), typeof(Marshal), "SetLastSystemError", false, false) ?? (_ => { });
        Action<int, Action> each = (times, hook) =>
        {
            int wrong = 0;
            for (int i = 0; i < times; i++)
            {
                Close(-5);
                set(BadFile);
                hook();
                int system = read();
                wrong += Marshal.GetLastWin32Error() == BadFile && system == BadFile ? 0 : 1;
            }
            Check(wrong == 0, wrong + " of " + times + " wrong");
        };
        each(1, () => Hooks.Enter(1));
        each(1, () => Hooks.Error(new IOException("x"), 1));
        each(200000, () => { Hooks.Enter(1); Hooks.Exit(1); });
        each(100, () => Hooks.Count(1));
        each(100, () => { Hooks.Start(3); Hooks.Stop(3); });
        each(100, () => { Hooks.Enter(1); Values.Text(new Reads(), 1, 100, null, 1); Hooks.Exit(1); });
        Action guarded = () =>
        {
            Check(Guard.Begin(), "it begins");
            File.Exists("/nothing here");
            Guard.End();
        };
        each(10, guarded);
        each(2, () => Guard.Failed(new Exception("why"), "Acme.Last"));
        Exception failed = null;
        var thread = new Thread(() =>
        {
            try
            {
                each(2, guarded);
                each(1, () => Hooks.Enter(2));
            }
            catch (Exception e)
            {
                failed = e;
            }
        });
        thread.Start();
        thread.Join();
        Check(failed == null, "a thread's first hook: " + failed);
    }

    private sealed class Request
    {
        internal readonly byte[] Big = new byte[1000];
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static WeakReference First(object local, PropertyInfo value)
    {
        var request = new Request();
        value.SetValue(local, request, null);
        Hooks.Enter(1);
        Hooks.Exit(1);
        value.SetValue(local, null, null);
        return new WeakReference(request);
    }

    /// <summary>The library's threads have nothing of whoever made the first recorded call.</summary>
    private static void ContextStays()
    {
        // The compiler's reference assemblies of Mono do not have it.
        Type type = Type.GetType("System.Threading.AsyncLocal`1").MakeGenericType(typeof(Request));
        WeakReference first = First(Activator.CreateInstance(type), type.GetProperty("Value"));
        for (int i = 0; i < 5; i++)
        {
            Thread.Sleep(20);
            GC.Collect();
            GC.WaitForPendingFinalizers();
        }
        // Mono's collector looks at stacks word by word, and may find it there.
        Check(!first.IsAlive || Type.GetType("Mono.Runtime") != null, "the request is gone");
    }

    /// <summary>While a hook of a thread runs, it begins no other; other threads do.</summary>
    private static void OwnHooksNest()
    {
        Check(Guard.Begin() && !Guard.Begin(), "a hook begins once");
        bool other = false;
        var thread = new Thread(() => other = Guard.Begin());
        thread.Start();
        thread.Join();
        Check(other, "on another thread");
        Guard.Failed(new Exception("inside"), "Acme.Nested");
        Check(!Guard.Begin(), "still in it");
        Guard.End();
        Check(Guard.Begin(), "and again behind its end");
        Guard.End();
        long start = Guard.Nanoseconds();
        Check(Guard.Nanoseconds() >= start, "the time does not go back");
    }

    private static void One()
    {
        Calls(1);
    }

    private static void Many()
    {
        Calls(100000); // 600,000 records
    }

    /// <summary>Eight threads that live at once.</summary>
    private static void Crowd()
    {
        var all = new Barrier(8);
        var threads = new Thread[8];
        for (int i = 0; i < threads.Length; i++)
        {
            threads[i] = new Thread(() =>
            {
                Calls(100);
                all.SignalAndWait();
            });
            threads[i].Start();
        }
        foreach (Thread thread in threads)
        {
            thread.Join();
        }
    }

    /// <summary>Fills chunk after chunk, each as soon as others are ready; says how many are to be ready at the end.</summary>
    private static void Ahead()
    {
        const BindingFlags Inner = BindingFlags.Static | BindingFlags.Instance | BindingFlags.NonPublic;
        Calls(1);
        object store = typeof(Hooks).Assembly.GetType("Weave.Runtime.Trace").GetField("store", Inner).GetValue(null);
        object free = store.GetType().GetField("free", Inner).GetValue(store);
        PropertyInfo count = free.GetType().GetProperty("Count", Inner);
        FieldInfo ahead = store.GetType().GetField("ahead", Inner);
        for (int i = 0; i < 50; i++)
        {
            for (int naps = 0; 2 * (int)count.GetValue(free, null) <= 8 && naps < 1000; naps++)
            {
                Thread.Sleep(1);
            }
            Calls(1400); // 8,400 records, somewhat more than a chunk has
        }
        // It doubles whenever the thread that records has to make the file grow.
        Console.WriteLine("ahead " + ahead.GetValue(store));
    }

    private static void Threads()
    {
        var a = new Thread(() => Calls(50000)) { Name = "α" };
        var b = new Thread(() => Calls(50000)) { Name = new string('b', 300), IsBackground = true };
        a.Start();
        b.Start();
        a.Join();
        b.Join();
        Recurse(1000);
    }

    private static void Recurse(int depth)
    {
        Hooks.Enter(depth);
        if (depth > 1)
        {
            Recurse(depth - 1);
        }
        Hooks.Exit(depth);
    }

    private static void Raise(int depth, Exception t)
    {
        Hooks.Enter(depth);
        try
        {
            if (depth == 1)
            {
                throw t;
            }
            Raise(depth - 1, t);
        }
        catch (Exception e)
        {
            Hooks.Error(e, depth);
            throw;
        }
        Hooks.Exit(depth);
    }

    private static void Caught(int depth, Exception t)
    {
        try
        {
            Raise(depth, t);
        }
        catch (Exception e)
        {
            Check(e == t || e is ThreadAbortException, "the same exception");
        }
    }

    private static void Check(bool holds, string what)
    {
        if (!holds)
        {
            throw new InvalidOperationException("not so: " + what);
        }
    }

    private sealed class Unruly : Exception
    {
        internal bool Throws;

        public override string Message
        {
            get
            {
                Hooks.Enter(77);
                try
                {
                    Calls(10);
                    Caught(2, new InvalidOperationException("inside"));
                    if (Throws)
                    {
                        throw this;
                    }
                    Hooks.Exit(77);
                    return "recorded";
                }
                catch (Exception t)
                {
                    Hooks.Error(t, 77);
                    throw;
                }
            }
        }
    }

    private sealed class Generic<T> : Exception
    {
        public override string Message
        {
            get { return null; }
        }
    }

    private static void Exceptions()
    {
        var a = new ApplicationException("a");
        var b = new ApplicationException(string.Concat(System.Linq.Enumerable.Repeat("ä€𝄞", 400)));
        Caught(5, a);
        Caught(2, b);
        Caught(2, a);
        Caught(2, a);
        Caught(1, new Generic<int>());
        Caught(1, new Unruly());
        Caught(1, new Unruly { Throws = true });
        Calls(1);
    }

    private static void Unhandled()
    {
        Hooks.Enter(1);
        Hooks.Enter(2);
        throw new ApplicationException("the end");
    }

    /// <summary>Calculates, allocates, collects and throws for a second.</summary>
    private static void Busy()
    {
        DateTime end = DateTime.UtcNow.AddSeconds(int.Parse(Environment.GetEnvironmentVariable("SECONDS") ?? "1"));
        while (DateTime.UtcNow < end)
        {
            Calls(10);
            GC.KeepAlive(new byte[1 << 20]);
            GC.Collect();
            try
            {
                throw new InvalidOperationException();
            }
            catch (InvalidOperationException)
            {
                // counted
            }
        }
    }

    private static void Gap()
    {
        Hooks.Enter(1);
        Thread.Sleep(1200);
        Hooks.Exit(1);
        long call = 0;
        Hooks.Resume(ref call, 2);
        Hooks.Suspend(ref call, 2);
        Thread.Sleep(1200);
        Hooks.Resume(ref call, 2);
        Thread.Sleep(1200);
        Hooks.End(ref call, 2);
    }

    private static void ShortThreads()
    {
        for (int i = 0; i < 5000; i += 10)
        {
            Together(10, () => Calls(2));
        }
    }

    private static void Waves()
    {
        for (int wave = 0; wave < 20; wave++)
        {
            Together(50, () => Calls(200));
        }
    }

    private static void Together(int n, ThreadStart what)
    {
        var all = new Thread[n];
        for (int i = 0; i < n; i++)
        {
            all[i] = new Thread(what);
            all[i].Start();
        }
        foreach (Thread t in all)
        {
            t.Join();
        }
    }

    private static void Pool()
    {
        Parallel.For(0, 20000, i => Calls(10));
    }

    private static void Killed()
    {
        var t = new Thread(() => Calls(12345)) { Name = "other" };
        t.Start();
        t.Join();
        Hooks.Enter(9);
        Calls(34567);
        Console.WriteLine("done");
        Thread.Sleep(60000);
    }

    private static void KilledAtWork()
    {
        Hooks.Enter(9);
        Calls(100);
        Console.WriteLine("done");
        while (true)
        {
            Calls(1000);
        }
    }

    private static void Exits()
    {
        var t = new Thread(() =>
        {
            while (true)
            {
                Calls(10);
            }
        }) { IsBackground = true };
        t.Start();
        Calls(100);
        AppDomain.CurrentDomain.ProcessExit += (s, e) => Calls(1);
        Console.WriteLine("done");
        Environment.Exit(0);
    }

    /// <summary>What the control groups below a folder leave for a trace in memory.</summary>
    private static void Container()
    {
        MethodInfo limit = typeof(Hooks).Assembly.GetType("Weave.Runtime.Surroundings").GetMethod("Container", BindingFlags.Static | BindingFlags.NonPublic);
        foreach (string root in Environment.GetEnvironmentVariable("ROOTS").Split(';'))
        {
            Console.WriteLine(limit.Invoke(null, new object[] { root }));
        }
    }

    /// <summary>A load context that can be unloaded has a copy of the library, which records; then the context goes.</summary>
    private static void Unload()
    {
        Type kind = Type.GetType("System.Runtime.Loader.AssemblyLoadContext, System.Runtime.Loader");
        WeakReference gone = InContext(kind);
        for (int i = 0; gone.IsAlive && i < 1000; i++)
        {
            GC.Collect();
            GC.WaitForPendingFinalizers();
            Thread.Sleep(10);
        }
        Check(!gone.IsAlive, "the load context is still there");
    }

    [System.Runtime.CompilerServices.MethodImpl(System.Runtime.CompilerServices.MethodImplOptions.NoInlining)]
    private static WeakReference InContext(Type kind)
    {
        object context = Activator.CreateInstance(kind, "plug-ins", true);
        MethodInfo load = kind.GetMethod("LoadFromAssemblyPath");
        var library = (Assembly)load.Invoke(context, new object[] { Environment.GetEnvironmentVariable("COPY") });
        load.Invoke(context, new object[] { Environment.GetEnvironmentVariable("LATE") });
        Type hooks = library.GetType("Weave.Runtime.Hooks");
        Check(hooks != typeof(Hooks), "a copy of its own");
        var enter = (Action<int>)hooks.GetMethod("Enter").CreateDelegate(typeof(Action<int>));
        var exit = (Action<int>)hooks.GetMethod("Exit").CreateDelegate(typeof(Action<int>));
        var count = (Action<int>)hooks.GetMethod("Count").CreateDelegate(typeof(Action<int>));
        ThreadStart calls = () =>
        {
            for (int i = 0; i < 100000; i++)
            {
                count(7);
                enter(1);
                exit(1);
            }
        };
        calls();
        var other = new Thread(calls);
        other.Start();
        other.Join();
        kind.GetMethod("Unload").Invoke(context, null);
        return new WeakReference(context);
    }

    private static void Interrupted()
    {
        Thread.CurrentThread.Interrupt();
        Calls(200000);
        try
        {
            Thread.Sleep(10);
        }
        catch (ThreadInterruptedException)
        {
            return;
        }
        Check(false, "the interrupt is lost");
    }

    /// <summary>Threads that end up with little stack: the library must not be what ends it.</summary>
    private static void Deep()
    {
        for (int i = 0; i < 5; i++)
        {
            var t = new Thread(() => Down(0), 1 << 20);
            t.Start();
            t.Join();
        }
    }

    private static void Down(int depth)
    {
        Hooks.Enter(5);
        bool room = true;
        try
        {
            System.Runtime.CompilerServices.RuntimeHelpers.EnsureSufficientExecutionStack();
        }
        catch (InsufficientExecutionStackException e)
        {
            room = false;
            for (int i = 0; i < 20; i++)
            {
                Caught(3, e);
                Calls(100);
            }
        }
        if (room)
        {
            Down(depth + 1);
        }
        Hooks.Exit(5);
    }

    /// <summary>Threads that never have the stack that hosts call sufficient, and one of them is the first to call a hook.</summary>
    private static void SmallStacks()
    {
        int thrown = 0;
        AppDomain.CurrentDomain.FirstChanceException += (s, e) => thrown++;
        for (int i = 0; i < 6; i++)
        {
            var t = new Thread(() => { Calls(2000); Caught(3, new ApplicationException("a")); }, 128 << 10) { Name = "small" + i };
            t.Start();
            t.Join();
            if (i == 2)
            {
                Calls(1); // from here on there is a trace
            }
        }
        Console.WriteLine("first chance " + thrown);
    }

    /// <summary>Recursion to where the host says that the stack is short: exceptions pass through all of it.</summary>
    private static void ShortRecursion()
    {
        Calls(1);
        var t = new Thread(() =>
        {
            for (int i = 0; i < 3; i++)
            {
                try
                {
                    Visit(0);
                }
                catch (InsufficientExecutionStackException)
                {
                }
            }
            Calls(1);
        }, 16 << 20) { Name = "deep" };
        int thrown = 0;
        AppDomain.CurrentDomain.FirstChanceException += (s, e) => thrown++;
        var watch = System.Diagnostics.Stopwatch.StartNew();
        t.Start();
        t.Join();
        Console.WriteLine("depth " + depth + " took " + watch.ElapsedMilliseconds + " first chance " + thrown);
    }

    private static int depth;

    private static void Visit(int n)
    {
        Hooks.Enter(5);
        bool left = true;
        try
        {
            depth++;
            System.Runtime.CompilerServices.RuntimeHelpers.EnsureSufficientExecutionStack();
            Visit(n + 1);
            left = false;
        }
        finally
        {
            if (left)
            {
                Hooks.Error(Insufficient, 5);
            }
        }
        Hooks.Exit(5);
    }

    private static readonly Exception Insufficient = new InsufficientExecutionStackException("in the fault blocks");

    /// <summary>Threads whose numbers go beyond 2^31.</summary>
    private static void HighNumbers()
    {
        Calls(1);
        const BindingFlags Hidden = BindingFlags.Static | BindingFlags.Instance | BindingFlags.NonPublic;
        object store = typeof(Hooks).Assembly.GetType("Weave.Runtime.Trace").GetField("store", Hidden).GetValue(null);
        store.GetType().GetField("threads", Hidden).SetValue(store, int.MaxValue - 1);
        for (int i = 0; i < 3; i++)
        {
            On("high", () => Calls(1));
        }
    }

    private sealed class WovenWriter : StringWriter
    {
        internal int Lines;

        public override void WriteLine(string value)
        {
            Hooks.Enter(67);
            Lines++;
            Hooks.Exit(67);
        }
    }

    /// <summary>What the library calls is woven: the error stream, the event that an assembly is loaded.</summary>
    private static void WovenHost()
    {
        // Mono cannot load the library for a handler of the very event that it is loaded.
        Check(typeof(Hooks).Assembly.GetName().Name == "Weave.Runtime", "the library");
        var writer = new WovenWriter();
        Console.SetError(writer);
        AppDomain.CurrentDomain.AssemblyLoad += (s, e) =>
        {
            if (Thread.CurrentThread.Name == "weave-symbols")
            {
                Hooks.Enter(66);
                Hooks.Exit(66);
            }
        };
        Calls(1000);
        Check(writer.Lines == 1, "one line");
    }

    private static void LateSymbols()
    {
        Calls(1);
        Assembly.LoadFrom(Environment.GetEnvironmentVariable("LATE"));
        Calls(1);
    }

    private static void LoadWithinALoad()
    {
        Calls(1);
        Assembly late = Assembly.LoadFrom(Environment.GetEnvironmentVariable("LATE"));
        Thread.Sleep(300); // all maps so far are copied
        Activator.CreateInstance(late.GetType("C"));
        Calls(1);
    }

    private static void NoThreadLeft()
    {
        Calls(1000);
        long call = 0;
        Hooks.Begin(ref call, 1);
        Hooks.Resume(ref call, 1);
        Hooks.Moved(true, ref call, 1);
        Hooks.End(ref call, 1);
        Check(call == 0, "nothing happens when off");
    }

    /// <summary>Nothing is recorded, whatever the state.</summary>
    private static void SwitchedOff()
    {
        for (int state = 0; state < 8; state++)
        {
            Check(Switched.Enter(Rules(30), 30) == 0 && Switched.Decide(Rules(32), 32) == 0, "nothing is sampled");
            Check(Switched.Enter(Rules(2), 2) == 0 && Switched.Decide(Rules(2), 2) == 0, "no state");
            Switched.Begin(state, 2);
            Values.Value("v", 0, 128, null, 2, state);
            Switched.Error(Failure, state, 2);
            Switched.Exit(state, 2);
            Switched.Pass(state, 2);
        }
        long call = 0;
        Switched.Begin(ref call, Rules(2), 2);
        Switched.Resume(ref call, Rules(2), 2);
        Check(call == 0, "no call");
    }

    private static volatile bool runs = true;
    private static int rounds;

    /// <summary>
    /// Does what lines of its input say. <c>round N</c>: so many calls of each method in each of four threads; <c>run</c>: calls from now on in
    /// four threads; <c>stop</c>: ends that; all say how many rounds <c>run</c> has made. <c>enter ID</c> and so on: that hook, with
    /// the state of the innermost call of that method. <c>until ID STATE</c>: calls of a method until they are in that state; <c>slowly ID N</c>: so many
    /// calls that last, with many of 20 in each; <c>calls ID N</c>; <c>turns ID N OTHER</c>: so many of each, in turns; <c>together ID N</c> and <c>trees
    /// N</c>: so many in each of four threads; <c>shortly ID N</c>: one in each of so many threads, one after the other. <c>begins ID</c>, <c>resume ID</c> and so on: the hook of a logical call, of one that is new or of the
    /// innermost of that method; <c>pass ID</c>: with the last state of that method; <c>pieces ID</c>: logical calls until one is not recorded;
    /// <c>failing ID N</c>: so many calls that fail; <c>taken ID</c>: logical calls until one is recorded, which runs then; <c>requests N</c>: so many in
    /// each of four threads.
    /// </summary>
    private static void SwitchedCalls()
    {
        Assembly.LoadFrom(Environment.GetEnvironmentVariable("LATE"));
        if (Environment.GetEnvironmentVariable("PLAIN_FIRST") != null)
        {
            Hooks.Enter(1); // the trace is open, and its maps are read, before anything can be switched
            Thread.Sleep(300);
            Hooks.Exit(1);
        }
        var running = new List<Thread>();
        var states = new Dictionary<int, Stack<int>>();
        var calls = new Dictionary<int, Stack<long[]>>();
        Hooks.Exit(Begun(3));
        Console.WriteLine("ready");
        for (string line; (line = Console.In.ReadLine()) != null;)
        {
            string[] words = line.Split(' ');
            int n = 0;
            Stack<int> open = null;
            if (words.Length > 1 && int.TryParse(words[1], out n) && !states.TryGetValue(n, out open))
            {
                open = states[n] = new Stack<int>();
                calls[n] = new Stack<long[]>();
            }
            switch (words[0])
            {
                case "load":
                    Assembly.LoadFrom(words[1]);
                    break;
                case "round":
                    Together(4, () => Rounds(n, 0));
                    break;
                case "run":
                    for (int i = 0; i < 4; i++)
                    {
                        var t = new Thread(() =>
                        {
                            while (runs)
                            {
                                Rounds(1, 2000);
                                Interlocked.Increment(ref rounds);
                            }
                        });
                        t.Start();
                        running.Add(t);
                    }
                    break;
                case "stop":
                    runs = false;
                    foreach (Thread t in running)
                    {
                        t.Join();
                    }
                    break;
                case "until":
                    for (int state = -1; (state & 3) != int.Parse(words[2]); rounds++)
                    {
                        state = Switched.Enter(Rules(n), n);
                        Switched.Exit(state, n);
                        if (words.Length > 3)
                        {
                            Pause(rounds);
                        }
                    }
                    break;
                case "calls":
                    Repeatedly(n, int.Parse(words[2]));
                    break;
                case "turns":
                    for (int i = int.Parse(words[2]); i > 0; i--)
                    {
                        Repeatedly(n, 1);
                        Repeatedly(int.Parse(words[3]), 1);
                    }
                    break;
                case "together":
                    Together(4, () => Repeatedly(n, int.Parse(words[2])));
                    break;
                case "shortly":
                    for (int i = int.Parse(words[2]); i > 0; i--)
                    {
                        Together(1, () => Repeatedly(n, 1));
                    }
                    break;
                case "trees":
                    Together(4, () => Trees(n));
                    break;
                case "allocated":
                    rounds = (int)Allocated(() => Trees(n));
                    break;
                case "allocated-pieces":
                    rounds = (int)Allocated(() => Requests(n, null));
                    break;
                case "requests":
                    Together(4, () =>
                    {
                        // Each has one that goes on where it was suspended.
                        var waiting = new Queue<long[]>();
                        var goesOn = new Thread(() => GoOn(waiting));
                        goesOn.Start();
                        Requests(n, waiting);
                        lock (waiting)
                        {
                            waiting.Enqueue(null);
                            Monitor.Pulse(waiting);
                        }
                        goesOn.Join();
                    });
                    break;
                case "taken":
                    for (calls[n].Push(new long[1]); ; calls[n].Peek()[0] = 0)
                    {
                        ref long call = ref calls[n].Peek()[0];
                        Switched.Resume(ref call, Rules(n), n);
                        if ((call >> 3 & 0xFFFFFF) != 0)
                        {
                            break;
                        }
                        Hooks.End(ref call, n);
                    }
                    break;
                case "sleep":
                    Thread.Sleep(n);
                    break;
                case "slowly":
                    for (int i = int.Parse(words[2]); i > 0; i--)
                    {
                        int state = Switched.Enter(Rules(n), n);
                        Thread.Sleep(3);
                        for (int j = 0; j < 1000; j++, rounds++)
                        {
                            int inner = Switched.Enter(Rules(20), 20);
                            Switched.Exit(inner, 20);
                        }
                        Switched.Exit(state, n);
                    }
                    break;
                case "enter":
                    open.Push(Switched.Enter(Rules(n), n));
                    break;
                case "decide":
                    open.Push(Switched.Decide(Rules(n) | (words.Length > 2 ? 64 : 0), n));
                    break;
                case "value":
                    Values.Value(words[2], int.Parse(words[3]) << 16, 128, null, n, open.Peek());
                    break;
                case "begin":
                    Switched.Begin(open.Peek(), n);
                    break;
                case "exit":
                    Switched.Exit(open.Pop(), n);
                    break;
                case "failing":
                    for (int i = int.Parse(words[2]); i > 0; i--)
                    {
                        Switched.Error(Failure, Switched.Enter(Rules(n), n), n);
                    }
                    break;
                case "pass":
                    Switched.Pass(open.Pop(), n);
                    break;
                case "begins":
                    calls[n].Push(new long[1]);
                    Switched.Begin(ref calls[n].Peek()[0], Rules(n), n);
                    break;
                case "starts":
                    calls[n].Push(new long[1]);
                    Switched.Resume(ref calls[n].Peek()[0], Rules(n) | (words.Length > 2 ? 64 : 0), n);
                    break;
                case "resume":
                    Switched.Resume(ref calls[n].Peek()[0], Rules(n), n);
                    break;
                case "suspend":
                    Hooks.Suspend(ref calls[n].Peek()[0], n);
                    break;
                case "end":
                    Hooks.End(ref calls[n].Pop()[0], n);
                    break;
                case "fail":
                    Hooks.Fail(new ApplicationException("as told"), ref calls[n].Pop()[0], n);
                    break;
                case "pieces":
                    for (long call = 0; call >= 0; rounds++)
                    {
                        Pause(rounds);
                        call = 0;
                        Switched.Resume(ref call, Rules(n), n);
                        bool more = call > 0;
                        Hooks.Moved(more, ref call, n);
                        Switched.Resume(ref call, Rules(n), n);
                        Hooks.End(ref call, n);
                        call = more ? 0 : -1;
                    }
                    break;
                case "error":
                    Switched.Error(new ApplicationException("as told"), open.Pop(), n);
                    break;
                default:
                    throw new InvalidOperationException(line);
            }
            Console.WriteLine(rounds);
        }
    }

    /// <summary>Keeps a loop at some 100,000 rounds a second: hundred times what the rate of its test allows, and few enough to read.</summary>
    private static void Pause(int rounds)
    {
        if (rounds % 128 == 127)
        {
            Thread.Sleep(1);
        }
    }

    private static void Repeatedly(int id, int n)
    {
        for (int i = 0; i < n; i++)
        {
            Switched.Exit(Switched.Enter(Rules(id), id), id);
        }
    }

    /// <summary>
    /// In a call that cannot be switched: one that is sampled, with values, and in it one of another sampled method, which fails, one of the same
    /// and one that is not sampled. Each third fails.
    /// </summary>
    private static void Trees(int n)
    {
        for (int i = 0; i < n; i++)
        {
            Hooks.Enter(1);
            int outer = Switched.Decide(Rules(30), 30);
            Values.Value(i, 0, 128, null, 30, outer);
            Switched.Begin(outer, 30);
            int inner = Switched.Enter(Rules(31), 31);
            Repeatedly(30, 1);
            Switched.Error(Failure, inner, 31);
            Repeatedly(2, 1);
            Values.Value(i, 4 << 8, 128, null, 30, outer);
            if (i % 3 == 0)
            {
                Switched.Error(Failure, outer, 30);
            }
            else
            {
                Switched.Exit(outer, 30);
            }
            Hooks.Exit(1);
        }
    }

    /// <summary>
    /// Async calls of a sampled method, each third of which fails. Before it waits, each makes calls of sampled methods, and begins an async one that
    /// waits longer than itself. What waits is handed on, or goes on here.
    /// </summary>
    private static void Requests(int n, Queue<long[]> waiting)
    {
        var calls = new long[3];
        for (int i = 0; i < n; i++)
        {
            calls = waiting == null ? calls : new long[3];
            calls[0] = calls[1] = 0;
            calls[2] = i % 3;
            Hooks.Enter(1);
            Switched.Resume(ref calls[0], Rules(30), 30);
            Repeatedly(31, 1);
            Switched.Resume(ref calls[1], Rules(31), 31);
            Repeatedly(34, 1);
            Hooks.Suspend(ref calls[1], 31);
            Repeatedly(2, 1);
            Hooks.Suspend(ref calls[0], 30);
            Hooks.Exit(1);
            if (waiting == null)
            {
                GoOn(calls);
                continue;
            }
            lock (waiting)
            {
                waiting.Enqueue(calls);
                Monitor.Pulse(waiting);
            }
        }
    }

    private static void GoOn(Queue<long[]> waiting)
    {
        for (;;)
        {
            long[] calls;
            lock (waiting)
            {
                while (waiting.Count == 0)
                {
                    Monitor.Wait(waiting);
                }
                calls = waiting.Dequeue();
            }
            if (calls == null)
            {
                return;
            }
            GoOn(calls);
        }
    }

    /// <summary>The outer call ends, and within that its last piece that of the inner one runs.</summary>
    private static void GoOn(long[] calls)
    {
        Switched.Resume(ref calls[0], Rules(30), 30);
        Repeatedly(31, 1);
        Switched.Resume(ref calls[1], Rules(31), 31);
        Repeatedly(34, 1);
        Hooks.End(ref calls[1], 31);
        Repeatedly(31, 1);
        if (calls[2] == 0)
        {
            Hooks.Fail(Failure, ref calls[0], 30);
        }
        else
        {
            Hooks.End(ref calls[0], 30);
        }
    }

    /// <summary>How much memory the second run takes; -1 where nobody tells.</summary>
    private static long Allocated(Action run)
    {
        MethodInfo tells = typeof(GC).GetMethod("GetAllocatedBytesForCurrentThread");
        if (tells == null)
        {
            return -1;
        }
        var allocated = (Func<long>)tells.CreateDelegate(typeof(Func<long>));
        run();
        long before = allocated();
        run();
        return allocated() - before;
    }

    /// <summary>A call of a method that is off opens the trace all the same.</summary>
    private static int Begun(int id)
    {
        Switched.Exit(Switched.Enter(Rules(id), id), id);
        Hooks.Enter(1);
        return 1;
    }

    /// <summary>
    /// What the rules say: 3 and 5 are of level debug, the others of level info; 5 is summed up, 6 is counted, 20 and so on are left to the library, 30 and
    /// so on are sampled: one of ten, of 31 one of three, of 32 two a second, of 34 each, of 35 next to none.
    /// </summary>
    private static int Rules(int id)
    {
        if (id >= 20 && id < 30 || id < 0)
        {
            return 1 << 4 | 4 | 1000 << 8 | (id == 29 ? 2 : 0); // auto; 29 is straight-line code
        }
        if (id >= 30 && id < 40)
        {
            return 1 << 4 | 8 | (id == 32 ? 128 : 0) | (id == 31 ? 3 : id == 32 ? 2 : id == 34 ? 1 : id == 35 ? (1 << 24) - 1 : 10) << 8;
        }
        return (id == 3 || id == 5 || id == 8 ? 2 << 4 : 1 << 4) | (id == 5 ? 1 : id == 6 ? 2 : 0);
    }

    /// <summary>Has the same place as 3 in a table by 20 bits.</summary>
    private const int Neighbour = 3 + (1 << 20);

    /// <summary>
    /// In a call that cannot be switched: recorded ones of two aspects, one of them recursive, one that is summed up and one that is counted.
    /// </summary>
    private static void Rounds(int n, int work)
    {
        for (int i = 0; i < n; i++)
        {
            Hooks.Enter(1);
            int two = Switched.Enter(Rules(2), 2);
            int three = Switched.Enter(Rules(3), 3);
            Thread.SpinWait(work);
            int five = Switched.Enter(Rules(5), 5);
            Thread.SpinWait(work);
            int again = Switched.Decide(Rules(2), 2);
            Values.Value(i, 0, 128, null, 2, again);
            Switched.Begin(again, 2);
            int six = Switched.Enter(Rules(6), 6);
            Thread.SpinWait(work);
            Switched.Exit(six, 6);
            Switched.Exit(again, 2);
            int neighbour = Switched.Enter(Rules(Neighbour), Neighbour);
            Thread.SpinWait(work);
            Switched.Exit(neighbour, Neighbour);
            Switched.Exit(five, 5);
            Thread.SpinWait(work);
            Switched.Error(Failure, three, 3);
            Switched.Exit(two, 2);
            Hooks.Exit(1);
        }
    }

    private static readonly Exception Failure = new ApplicationException("no");

    /// <summary>A call in three pieces on three threads; one that fails between two pieces; one that is abandoned.</summary>
    private static void Logical()
    {
        long a = 0;
        On("one", () =>
        {
            Hooks.Enter(10);
            Hooks.Resume(ref a, 11);
            Calls(1);
            Hooks.Suspend(ref a, 11);
            Hooks.Exit(10);
        });
        Thread.Sleep(50);
        On("two", () =>
        {
            Hooks.Resume(ref a, 11);
            Hooks.Suspend(ref a, 11);
        });
        On("three", () =>
        {
            Hooks.Resume(ref a, 11);
            Thread.Sleep(20);
            Hooks.End(ref a, 11);
            Hooks.End(ref a, 11); // these come too late
            Hooks.Suspend(ref a, 11);
            Hooks.Resume(ref a, 11);
            Hooks.Fail(new Exception(), ref a, 11);
        });
        long b = 0;
        Hooks.Begin(ref b, 12);
        Thread.Sleep(10);
        Hooks.Resume(ref b, 12);
        Hooks.Suspend(ref b, 12);
        Hooks.Fail(new ApplicationException("between"), ref b, 12);
        long c = 0;
        Hooks.Begin(ref c, 13);
        Hooks.Resume(ref c, 13);
        Hooks.Suspend(ref c, 13);
        long d = 0;
        Hooks.Begin(ref d, 14);
        Hooks.End(ref d, 14);
        long e = 0;
        Hooks.Resume(ref e, 15);
        Hooks.Fail(new ApplicationException("inside"), ref e, 15);
        long never = 0;
        Hooks.Suspend(ref never, 16);
        Hooks.End(ref never, 16);
        Hooks.Fail(new Exception(), ref never, 16);
        Check(never == 0, "no call, no number");
        Hooks.Begin(ref a, 17); // an ended one's field begins anew
        Hooks.Resume(ref a, 17);
        Hooks.End(ref a, 17);
        long f = 0;
        Hooks.Moved(true, ref f, 18);
        Hooks.Moved(false, ref f, 18);
        Check(f == 0, "no call, no number");
        Hooks.Resume(ref f, 18);
        Hooks.Moved(true, ref f, 18);
        Hooks.Resume(ref f, 18);
        Hooks.Moved(false, ref f, 18);
        Hooks.Moved(true, ref f, 18); // it has ended
    }

    private static void On(string name, ThreadStart what)
    {
        var t = new Thread(what) { Name = name };
        t.Start();
        t.Join();
    }

    private static void ManyLogical()
    {
        Together(4, () =>
        {
            for (int i = 0; i < 20000; i++)
            {
                long call = 0;
                Hooks.Resume(ref call, 21);
                Hooks.Suspend(ref call, 21);
                Hooks.Resume(ref call, 21);
                Hooks.End(ref call, 21);
            }
        });
    }

    /// <summary>An async method as it is woven, by hand.</summary>
    private static void Awaits()
    {
        var all = new List<Task>();
        for (int i = 0; i < 50; i++)
        {
            all.Add(Pieces());
        }
        Task.WhenAll(all).Wait();
    }

    private static async Task Pieces()
    {
        var call = new long[1];
        for (int i = 0; i < 10; i++)
        {
            Hooks.Resume(ref call[0], 31);
            Calls(10);
            Hooks.Suspend(ref call[0], 31);
            await Task.Delay(1).ConfigureAwait(false);
        }
        Hooks.Resume(ref call[0], 31);
        Hooks.End(ref call[0], 31);
    }

    /// <summary>Calls that give tasks, as they are woven, by hand.</summary>
    private static void Follows()
    {
        var later = new TaskCompletionSource<string>();
        Follow(later.Task, 41);
        On("completes", () => later.SetResult("kept"));
        Follow(Task.FromResult(1), 42);
        Follow(null, 43);
        var fails = new TaskCompletionSource<int>();
        Follow(fails.Task, 44);
        On("fails", () => fails.SetException(new ApplicationException("not asked for")));
        Check(fails.Task.Exception.InnerException.Message == "not asked for", "it is there");
        var cancelled = new TaskCompletionSource<int>();
        Follow(cancelled.Task, 45);
        On("cancels", () => cancelled.SetCanceled());
        Follow(cancelled.Task, 46);
        Follow(fails.Task, 47);
        var valued = new TaskCompletionSource<string>();
        long call = 0;
        Hooks.Resume(ref call, 48);
        Values.Later(valued.Task, 1 << 16 | 4 << 8, 128, null, 48);
        Hooks.Follow(valued.Task, ref call, 48);
        On("gives", () => valued.SetResult("given"));
        long at = 0;
        Hooks.Resume(ref at, 49);
        Values.Later(Task.FromResult(7), 1 << 16 | 4 << 8, 128, null, 49);
        Hooks.Follow(Task.FromResult(7), ref at, 49);
        long ended = 0;
        Hooks.Resume(ref ended, 50);
        Hooks.Fail(new ApplicationException("gives no task"), ref ended, 50);
        Hooks.Follow(later.Task, ref ended, 50);
        Check(later.Task.Result == "kept", "the task is complete");
        // Who waits for it goes on where it would.
        var awaited = new TaskCompletionSource<int>();
        Follow(awaited.Task, 51);
        Task<Thread> goesOn = GoesOn(awaited.Task);
        On("goes on", () => awaited.SetResult(1));
        Check(goesOn.Result.Name == "goes on", "in the thread that completes it");
    }

    private static async Task<Thread> GoesOn(Task task)
    {
        await task.ConfigureAwait(false);
        return Thread.CurrentThread;
    }

    private static void Follow(Task task, int id)
    {
        long call = 0;
        Hooks.Resume(ref call, id);
        Hooks.Follow(task, ref call, id);
    }

    /// <summary>Who follows a task has not observed its exception.</summary>
    private static void Unobserved()
    {
        int told = 0;
        TaskScheduler.UnobservedTaskException += (sender, e) => Interlocked.Increment(ref told);
        On("fails", () =>
        {
            for (int i = 0; i < 100; i++)
            {
                var fails = new TaskCompletionSource<int>();
                Follow(fails.Task, 52);
                fails.SetException(new ApplicationException("nobody asks"));
                Follow(fails.Task, 53);
            }
        });
        for (int i = 0; i < 50 && Volatile.Read(ref told) == 0; i++)
        {
            GC.Collect();
            GC.WaitForPendingFinalizers();
        }
        Check(Volatile.Read(ref told) > 0, "the runtime tells of exceptions that nobody has observed");
    }

    /// <summary>Many tasks at once, which the pool completes.</summary>
    private static void ManyFollowed()
    {
        int left = 20000;
        var through = new ManualResetEvent(false);
        Together(4, () =>
        {
            for (int i = 0; i < 5000; i++)
            {
                var source = new TaskCompletionSource<int>();
                int n = i;
                ThreadPool.QueueUserWorkItem(_ =>
                {
                    source.SetResult(n);
                    // The call has ended: here, or where the task is followed.
                    if (Interlocked.Decrement(ref left) == 0)
                    {
                        through.Set();
                    }
                });
                long call = 0;
                Hooks.Resume(ref call, 54);
                if (i % 2 == 0)
                {
                    Values.Later(source.Task, 1 << 16 | 4 << 8, 128, null, 54);
                }
                Hooks.Follow(source.Task, ref call, 54);
            }
        });
        through.WaitOne();
    }

    private static readonly string Aborted = new string('v', 100);

    /// <summary>Calls with values, of all lengths.</summary>
    private static void ManyValues()
    {
        for (int i = 0; i < 40_000; i++)
        {
            Values.Value(new string((char)('a' + i % 26), i % 140), 0, 128, null, 5);
            Values.Value(i, 1 << 16, 128, null, 5);
            Hooks.Enter(5);
            Values.Value(i % 2 == 1, 2 << 16 | 4 << 8, 128, null, 5);
            Hooks.Exit(5);
        }
    }

    /// <summary>A collection of the framework's whose own method records it.</summary>
    private static void WovenCollection()
    {
        for (int i = 0; i < 2; i++)
        {
            object v = i == 0 ? (object)new System.Collections.Immutable.Woven { 1, 2, 3 } : new Uri("http://a.example");
            Values.Value(v, 0, 128, null, 5);
            Hooks.Enter(5);
            Hooks.Exit(5);
        }
    }

    /// <summary>Records collections while another thread holds their locks, and waits for that to be done.</summary>
    private static void LockedCollections()
    {
        var list = System.Collections.ArrayList.Synchronized(new System.Collections.ArrayList { 1, 2, 3 });
        lock (list.SyncRoot)
        {
            Elsewhere(list);
        }
        var asks = new Asks();
        var dictionary = new System.Collections.Concurrent.ConcurrentDictionary<string, string>(asks);
        dictionary["a"] = "1";
        asks.Asked = () => Elsewhere(dictionary);
        dictionary["a"] = "2"; // has a lock of the dictionary while it compares keys
        Elsewhere(new System.Collections.ObjectModel.ReadOnlyCollection<int>(new Watched()));
    }

    private static void Elsewhere(object v)
    {
        var thread = new Thread(() =>
        {
            Values.Value(v, 0, 128, null, 5);
            Hooks.Enter(5);
            Hooks.Exit(5);
        }) { IsBackground = true };
        thread.Start();
        if (!thread.Join(20000))
        {
            throw new TimeoutException(v.GetType() + " waits for its lock");
        }
    }

    private sealed class Asks : IEqualityComparer<string>
    {
        internal Action Asked;

        public bool Equals(string a, string b)
        {
            var asked = Asked;
            Asked = null;
            asked?.Invoke();
            return a == b;
        }

        public int GetHashCode(string text)
        {
            return 1;
        }
    }

    /// <summary>A collection of the program's.</summary>
    private sealed class Watched : System.Collections.ObjectModel.Collection<int>, IList<int>
    {
        int ICollection<int>.Count
        {
            get
            {
                Console.Error.WriteLine("the program's Count is called");
                return 0;
            }
        }
    }

    /// <summary>Values of many units, of which masks hide nothing, something at the limit, and something that is longer than the limit.</summary>
    private static void MaskedArrays()
    {
        var classes = new char[129];
        for (char digit = '0'; digit <= '9'; digit++)
        {
            classes[digit] = (char)1;
        }
        // Two classes of units, and two rows: no digit was there; one was, which is a match.
        string mask = "\u0002" + new string(classes) + "\0\0\u0002" + "\u0001\0\u0002";
        foreach (var v in new object[] {
            new string('a', 5000).ToCharArray(),
            (new string('a', 18) + "12345678").ToCharArray(),
            (new string('1', 300) + "bc" + new string('d', 300)).ToCharArray(),
            (new string('a', 20) + new string('1', 5000) + "b").ToCharArray(),
            new object[] { new string('1', 60), "b", new string('c', 60) },
        })
        {
            Values.Value(v, 0, 20, mask, 5);
            Hooks.Enter(5);
            Hooks.Exit(5);
        }
    }

    /// <summary>Aborts threads again and again, where the host can do that.</summary>
    private static void Aborts()
    {
        for (int i = 0; i < 60; i++)
        {
            var t = new Thread(() =>
            {
                while (true)
                {
                    Caught(2, new ApplicationException("again"));
                    Calls(5);
                    Values.Value(Aborted, 0, 128, null, 1);
                    Values.Value(7L, 1 << 16, 128, null, 1);
                    Calls(1);
                    for (long call = 0, n = 0; n < 200; n++)
                    {
                        Hooks.Resume(ref call, 3);
                        Hooks.Suspend(ref call, 3);
                    }
                }
            });
            t.Start();
            Thread.Sleep(3);
            t.Abort();
            t.Join();
        }
        Calls(1000);
    }
}

namespace System.Collections.Immutable
{
    /// <summary>As the framework's collections are when they are woven.</summary>
    internal sealed class Woven : ArrayList
    {
        public override int Count
        {
            get
            {
                Weave.Runtime.Values.Value(this, 0, 128, null, 6);
                Weave.Runtime.Hooks.Enter(6);
                Weave.Runtime.Hooks.Exit(6);
                return base.Count;
            }
        }
    }
}
