using System;

namespace app {
/// <summary>Methods whose hooks change what they do. The Java program beside it does the same.</summary>
public class Changes {
    private readonly string name;
    private readonly int size;

    public Changes(string name, int size) {
        this.name = name;
        this.size = size;
    }

    public string args(string s, int n, long l, object o, bool overwrite) {
        if (overwrite) {
            s = "body";
            l = 0;
        }
        return s + n + l + o;
    }

    public static int loop(int n) {
        do {
            n = n - 1;
        } while (n > 0);
        return n;
    }

    public static string answer(int n) {
        if (n > 0) {
            return "positive";
        }
        return "negative";
    }

    public long answerLong(int n) {
        try {
            if (n == 0) {
                return 10;
            }
            return 20 / (n - 1);
        } catch (DivideByZeroException) {
            return 30;
        }
    }

    public static object answerObject(string s) {
        return s + "!";
    }

    public static string falls(int n) {
        if (n > 1) {
            throw new Oops("falls " + n);
        }
        return "stands";
    }

    public long fallsLong(long n) {
        lock (this) {
            if (n > 1) {
                throw new Oops("long");
            }
            return n;
        }
    }

    public static void other(int n) {
        if (n > 0) {
            throw new Oops("other");
        }
    }

    public string get(string key, long[] more) {
        while (more == null) {
            more = new long[] {1};
        }
        say("get " + key);
        return key + more.Length;
    }

    public static void act(int n) {
        say("act " + n);
    }

    public static int count(int n) {
        say("count");
        return n;
    }

    public double half(int n) {
        say("half");
        return n / 2.0;
    }

    public static long wide(long n, int off) {
        while (n < 2) {
            n = n + 1;
        }
        return n;
    }

    public static string keeps(string s, int n) {
        if (n > 1) {
            throw new Oops("keeps");
        }
        return s + n;
    }

    public static string open(string s, int n) {
        if (n > 1) {
            throw new Oops("open");
        }
        return s + n;
    }

    public static string nest(string s, int n) {
        say("nest " + s);
        if (n > 1) {
            throw new Oops("nest");
        }
        return s;
    }

    public override string ToString() {
        return name + size;
    }

    internal static void say(string text) {
        Console.WriteLine(text);
    }

    public static void Run(string[] args) {
        Changes changes = new Changes("c", 1);
        say(changes.ToString());
        say(changes.args("s", 1, 2, "o", false));
        say(changes.args("s", 1, 2, "o", true));
        say("" + loop(3));
        say(answer(1) + answer(0));
        say("" + changes.answerLong(0) + changes.answerLong(1) + changes.answerLong(2));
        say("" + answerObject("o"));
        say(falls(1));
        say(falls(2));
        say("" + changes.fallsLong(1) + changes.fallsLong(2));
        for (int i = 0; i < 2; i++) {
            try {
                other(i);
                say("no exception");
            } catch (InvalidOperationException e) {
                say("caught " + e.Message);
            }
        }
        say(changes.get("hit", null));
        say(changes.get("miss", null));
        act(0);
        act(1);
        say("" + count(0) + count(1));
        say((changes.half(0) == 0 ? "yes" : "no") + (changes.half(1) == 0.5 ? "yes" : "no"));
        say("" + wide(1, 0) + wide(1, 1));
        for (int i = 1; i < 3; i++) {
            try {
                say(keeps("hit", i));
            } catch (Oops e) {
                say("caught " + e.Message);
            }
        }
        say(open("hit", 1));
        say(open("miss", 1));
        say(open("miss", 2));
        say(nest("hit", 1));
        say(nest("miss", 1));
        say(nest("miss", 2));
    }
}
}
