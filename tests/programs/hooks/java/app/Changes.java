package app;

/** Methods whose hooks change what they do. The C# program beside it does the same. */
public class Changes {
    private final String name;
    private final int size;

    public Changes(String name, int size) {
        this.name = name;
        this.size = size;
    }

    public String args(String s, int n, long l, Object o, boolean overwrite) {
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

    public static String answer(int n) {
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
        } catch (ArithmeticException e) {
            return 30;
        }
    }

    public static Object answerObject(String s) {
        return s + "!";
    }

    public static String falls(int n) {
        if (n > 1) {
            throw new Oops("falls " + n);
        }
        return "stands";
    }

    public long fallsLong(long n) {
        synchronized (this) {
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

    public String get(String key, long[] more) {
        while (more == null) {
            more = new long[] {1};
        }
        say("get " + key);
        return key + more.length;
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

    public static String keeps(String s, int n) {
        if (n > 1) {
            throw new Oops("keeps");
        }
        return s + n;
    }

    public static String open(String s, int n) {
        if (n > 1) {
            throw new Oops("open");
        }
        return s + n;
    }

    public static String nest(String s, int n) {
        say("nest " + s);
        if (n > 1) {
            throw new Oops("nest");
        }
        return s;
    }

    @Override
    public String toString() {
        return name + size;
    }

    static void say(String text) {
        System.out.println(text);
    }

    public static void main(String[] args) {
        Changes changes = new Changes("c", 1);
        say(changes.toString());
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
            } catch (IllegalStateException e) {
                say("caught " + e.getMessage());
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
                say("caught " + e.getMessage());
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
