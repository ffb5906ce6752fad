using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Threading;

namespace app {
public interface Sized {
    int size();
}

/// <summary>A struct whose methods change it: their bodies stay where they are.</summary>
public struct Counter {
    public int n;

    public int add(int by) {
        n += by;
        return n;
    }

    public static int most(int a, int b) {
        return a > b ? a : b;
    }
}

public readonly struct Pair<T> : Sized where T : IComparable<T> {
    private readonly T first;
    private readonly T second;

    public Pair(T first, T second) {
        this.first = first;
        this.second = second;
    }

    public T most() {
        return first.CompareTo(second) > 0 ? first : second;
    }

    public U swap<U>(Func<T, T, U> make, T other) {
        return make(second, other);
    }

    public int add(int by) {
        return by + 1;
    }

    int Sized.size() {
        return 2;
    }
}

public class Holder<T> {
    protected readonly List<T> all = new List<T>();

    protected virtual string told(T t) {
        return "holder of " + t;
    }

    protected internal int count {
        get { return all.Count; }
    }
}

public class Bodies<T> : Holder<T>, Sized where T : class {
    private static int made;
    private readonly T value;

    public Bodies(T value) {
        this.value = value;
    }

    protected override string told(T t) {
        all.Add(t);
        return base.told(t) + hidden() + count;
    }

    private string hidden() {
        return " hidden " + value + " ";
    }

    int Sized.size() {
        return all.Count;
    }

    public string tell() {
        return told(value);
    }

    public static T make<U>(U from, T or) where U : struct, IConvertible {
        made++;
        return (from as object as T) ?? or;
    }

    public IEnumerable<KeyValuePair<T, U>> pairs<U>(U[] with) {
        List<KeyValuePair<T, U>> pairs = new List<KeyValuePair<T, U>>();
        foreach (U u in with) {
            pairs.Add(new KeyValuePair<T, U>(value, u));
        }
        return pairs;
    }

    public class Inner<V> {
        public V later(V v, Bodies<T> of) {
            of.all.Add(of.value);
            return v;
        }
    }
}

/// <summary>Methods of which only .NET has the like.</summary>
public class Bodies {
    private readonly string name = "bodies";

    public static unsafe int pointer(int* at, int more) {
        return *at + more;
    }

    public int filtered(int n) {
        try {
            return 10 / n;
        } catch (DivideByZeroException e) when (told("filter " + e.GetType().Name)) {
            return -1;
        } finally {
            told("finally");
        }
    }

    public string same() {
        return "instance " + name;
    }

    public static string same(Bodies other) {
        return "static " + other.name;
    }

    public static decimal large(decimal d, DateTime? when, ref int none) {
        return d + none;
    }

    public string frames() {
        StackFrame frame = new StackTrace(true).GetFrame(0);
        int line = frame.GetFileLineNumber();
        return frame.GetMethod().Name + " at " + (line == LINE || Type.GetType("Mono.Runtime") != null ? "its line" : "line " + line);
    }

    private const int LINE = 140;

    public int? maybe(int? n) {
        int? twice = n * 2;
        for (int i = 0; i < 2; i++) {
            int copy = i;
            ThreadStart more = delegate { twice += copy; };
            more();
        }
        return twice;
    }

    public override string ToString() {
        return name + base.ToString().Length;
    }

    public override bool Equals(object other) {
        return other is Bodies;
    }

    public override int GetHashCode() {
        return 1;
    }

    static bool told(string text) {
        say(text);
        return true;
    }

    static void say(string text) {
        Console.WriteLine(text);
    }

    public static unsafe void Run() {
        Counter counter = new Counter();
        say("" + counter.add(1) + counter.n + Counter.most(1, 2));
        Pair<string> pair = new Pair<string>("a", "b");
        say(pair.most() + pair.swap<int>((x, y) => x.Length + y.Length, "c") + pair.most() + pair.add(1));
        say("" + ((Sized) pair).size());
        Pair<int> numbers = new Pair<int>(1, 2);
        say("" + numbers.most() + numbers.swap<string>((x, y) => x + "-" + y, 7) + numbers.most());
        Bodies<string> of = new Bodies<string>("v");
        say(of.tell());
        say("" + ((Sized) of).size() + Bodies<string>.make<int>(5, "or") + Bodies<object>.make<int>(5, "or"));
        foreach (KeyValuePair<string, double> made in of.pairs<double>(new double[] {1, 2})) {
            say(made.Key + made.Value);
        }
        say(new Bodies<string>.Inner<string>().later("later", of) + new Bodies<string>.Inner<long>().later(9, of) + of.count);
        int n = 4;
        say("" + pointer(&n, 1));
        Bodies bodies = new Bodies();
        say("" + bodies.filtered(5) + bodies.filtered(0));
        say(bodies.same() + ", " + same(bodies));
        say(bodies.frames());
        say("" + bodies.maybe(1) + (bodies.maybe(null) == null ? "none" : "some"));
        say(bodies + (bodies.Equals(null) ? " yes" : " no") + bodies.GetHashCode());
    }
}
}
