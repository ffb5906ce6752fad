package app;

import java.io.IOException;

/** Methods whose bodies run when their hooks say so. */
public class Around extends Base implements Greeter {
    private int failures;
    private final String name = "around";

    public String flaky(String s, int fail) {
        say("flaky " + s);
        if (failures++ < fail) {
            throw new Oops("failure " + failures);
        }
        failures = 0;
        return s + " after " + fail;
    }

    public static String never(String s) {
        say("never runs");
        return s;
    }

    public int twice(int n) {
        failures += n;
        return failures;
    }

    public synchronized void elsewhere(String s) {
        say(s + " on " + Thread.currentThread().getName() + ", locked " + Thread.holdsLock(this));
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

    private boolean any(boolean a, byte b, short c, char d, int e, long f, float g, double h, String i, int[] j) {
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
        return name.charAt(0);
    }

    public String anyFails(int n) throws IOException {
        throw new IOException("body " + n);
    }

    @SafeVarargs
    public static <T extends Comparable<T>> T anyMost(T first, T... others) {
        T most = first;
        for (T other : others) {
            most = other.compareTo(most) > 0 ? other : most;
        }
        return most;
    }

    @Override
    public String nested(String s) {
        say("nested " + s);
        if (s.equals("<>")) {
            throw new Oops("empty");
        }
        return super.nested(s) + name;
    }

    public String named(int n) {
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

    static void say(String text) {
        System.out.println(text);
    }

    public static void main(String[] args) throws Exception {
        Around around = new Around();
        say(around.flaky("a", 0));
        say(around.flaky("b", 2));
        try {
            say(around.flaky("c", 3));
        } catch (Oops e) {
            say("caught " + e.getMessage());
        }
        around.failures = 0;
        say(never("x"));
        say("" + around.twice(3));
        around.elsewhere("called");
        say("" + fib(3));
        say("" + around.next(1));
        say("" + swapped(10, 3));
        int[] j = {0};
        say("" + around.any(true, (byte) 1, (short) 2, 'c', 4, 5, 6, 7, "i", j) + j[0]);
        anyVoid();
        say("" + (anyFloat(1.5f) == 3) + around.anyChar());
        try {
            say(around.anyFails(1));
        } catch (IOException e) {
            say("caught " + e.getMessage());
        }
        say(anyMost("a", "c", "b"));
        say(around.nested("s"));
        try {
            say(around.nested(""));
        } catch (Oops e) {
            say("caught " + e.getMessage());
        }
        say(around.greet("you") + Greeter.polite("me"));
        say(around.named(1));
        say("" + both(4));
        try {
            say("" + wrong(1));
        } catch (ClassCastException e) {
            say("no number");
        }
        say("" + seven(1));
    }
}
