using System;
using System.IO;
using System.Threading;

namespace app {
/// <summary>What <see cref="Around"/> inherits.</summary>
public class Base {
    public virtual string nested(string s) {
        return "base " + s + " ";
    }
}

/// <summary>Bodies in a struct; in Java, of an interface.</summary>
public readonly struct Greeter {
    public string greet(string s) {
        return polite("dear " + s);
    }

    public static string polite(string s) {
        return s + " please";
    }
}

/// <summary>Methods whose bodies run when their hooks say so. The Java program beside it does the same.</summary>
public class Around : Base {
    private int failures;
    private readonly string name = "around";

    public string flaky(string s, int fail) {
        say("flaky " + s);
        if (failures++ < fail) {
            throw new Oops("failure " + failures);
        }
        failures = 0;
        return s + " after " + fail;
    }

    public static string never(string s) {
        say("never runs");
        return s;
    }

    public int twice(int n) {
        failures += n;
        return failures;
    }

    public void elsewhere(string s) {
        lock (this) {
            say(s + " on " + Thread.CurrentThread.Name + ", locked " + (Monitor.IsEntered(this) ? "true" : "false"));
        }
    }

    public static int fib(int n) {
        if (n < 2) {
            return n;
        }
        return fib(n - 1) + fib(n - 2);
    }

    public int next(int n) {
        return n + failures;
    }

    public static long swapped(long a, long b) {
        return a - b;
    }

    private bool any(bool a, sbyte b, short c, char d, int e, long f, float g, double h, string i, int[] j) {
        j[0] = e;
        return a;
    }

    public static void anyVoid() {
        say("void");
    }

    public static float anyFloat(float f) {
        return f * 2;
    }

    public char anyChar() {
        return name[0];
    }

    public string anyFails(int n) {
        throw new IOException("body " + n);
    }

    public static T anyMost<T>(T first, params T[] others) where T : IComparable<T> {
        T most = first;
        foreach (T other in others) {
            most = other.CompareTo(most) > 0 ? other : most;
        }
        return most;
    }

    public override string nested(string s) {
        say("nested " + s);
        if (s == "<>") {
            throw new Oops("empty");
        }
        return base.nested(s) + name;
    }

    public string named(int n) {
        return "body " + n;
    }

    public static long both(int n) {
        return n;
    }

    public static int wrong(int n) {
        return n;
    }

    public static int seven(int n) {
        return n;
    }

    static void say(string text) {
        Console.WriteLine(text);
    }

    public static void Run() {
        Around around = new Around();
        say(around.flaky("a", 0));
        say(around.flaky("b", 2));
        try {
            say(around.flaky("c", 3));
        } catch (Oops e) {
            say("caught " + e.Message);
        }
        around.failures = 0;
        say(never("x"));
        say("" + around.twice(3));
        around.elsewhere("called");
        say("" + fib(3));
        say("" + around.next(1));
        say("" + swapped(10, 3));
        int[] j = {0};
        say((around.any(true, (sbyte) 1, (short) 2, 'c', 4, 5, 6, 7, "i", j) ? "true" : "false") + j[0]);
        anyVoid();
        say((anyFloat(1.5f) == 3 ? "true" : "false") + around.anyChar());
        try {
            say(around.anyFails(1));
        } catch (IOException e) {
            say("caught " + e.Message);
        }
        say(anyMost("a", "c", "b"));
        say(around.nested("s"));
        try {
            say(around.nested(""));
        } catch (Oops e) {
            say("caught " + e.Message);
        }
        say(new Greeter().greet("you") + Greeter.polite("me"));
        say(around.named(1));
        say("" + both(4));
        try {
            say("" + wrong(1));
        } catch (InvalidCastException) {
            say("no number");
        }
        say("" + seven(1));
    }
}
}
