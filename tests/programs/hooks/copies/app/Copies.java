package app;

import java.io.IOException;
import java.util.Arrays;

/** Methods with hooks around them that are copied, or not: that changes no line. */
public class Copies implements Runs {
    private int n;

    public String counted(int a) {
        System.out.println("counted " + a);
        return "c" + a;
    }

    public static int counted(Copies of, int a) {
        return a + of.n;
    }

    public boolean same(boolean a, byte b, short c, char d, int e, long f, float g, double h, String i, int[] j) {
        j[0] += b + c + d + e + (int) f + (int) g + (int) h + i.length();
        return a;
    }

    public static void same() {
        System.out.println("same void");
    }

    public int[] same(int a, int... more) {
        return more;
    }

    public String retry(int fails) throws IOException {
        if (n++ < fails) {
            throw new IllegalStateException("failure " + n);
        }
        n = 0;
        if (fails < 0) {
            throw new IOException("body");
        }
        return "after " + fails;
    }

    public synchronized void twice(String text) {
        System.out.println(text + " locked " + Thread.holdsLock(this));
    }

    public static String never(String text) {
        System.out.println("never runs");
        return text;
    }

    public long wide(long a, double b) {
        return a + (long) b;
    }

    public static double half(float a) {
        return a * 3;
    }

    public int nested(int a, int b) {
        return 10 * a + b + n;
    }

    public String objects(String a, int b) {
        return a + b + n;
    }

    public static String objects(String a, Integer b) {
        return a + b;
    }

    public String chosen(int a) {
        return "one";
    }

    public Object locked() {
        return Thread.holdsLock(this);
    }

    public static int fib(int n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }

    public Object fallback(int n) {
        return n == 0 ? fallback(n) + "" : 100 / (n - 1);
    }

    public String both(String a) {
        return "both " + a;
    }

    public String refused(String a, String b) {
        return "body " + a + b;
    }

    public static Object fails(Object a) {
        throw new UnsupportedOperationException("of the body");
    }

    public static void main(String[] args) throws Exception {
        Copies copies = new Copies();
        System.out.println("begins");
        System.out.println(copies.counted(1) + counted(copies, 2));
        int[] j = {1};
        System.out.println(copies.same(true, (byte) 1, (short) 2, '\3', 4, 5, 6, 7, "ij", j) + " " + j[0]);
        same();
        System.out.println(Arrays.toString(copies.same(1, 2, 3)));
        for (int fails : new int[] {0, 2, 3, -1}) {
            try {
                System.out.println(copies.retry(fails));
            } catch (IllegalStateException | IOException e) {
                System.out.println("caught " + e);
                copies.n = 0;
            }
        }
        copies.twice("t");
        System.out.println(never("x"));
        System.out.println(copies.wide(3, 2.5) + " " + half(1.5f) + " " + half(1e10f));
        System.out.println(copies.nested(3, 4));
        for (boolean swaps : new boolean[] {false, true}) {
            try {
                System.out.println(copies.objects("s", 1) + objects("t", (Integer) 2));
                System.out.println(swaps ? copies.objects("swapped", 1) : objects("swapped", (Integer) 2));
            } catch (ClassCastException e) {
                System.out.println("no text");
            }
        }
        for (int n : new int[] {0, 1, 2, 1000, -5}) {
            System.out.println(copies.chosen(n));
        }
        System.out.println(copies.locked() + " " + fib(12));
        System.out.println(copies.fallback(1) + " " + copies.fallback(5) + " " + copies.fallback(0).toString().startsWith("instead of"));
        System.out.println(copies.both("b") + copies.refused("r", "s") + copies.runs("d") + Runs.ofNothing());
        try {
            fails("x");
        } catch (UnsupportedOperationException e) {
            System.out.println("caught " + e.getMessage());
            for (StackTraceElement at : e.getStackTrace()) {
                System.err.println("at " + at.getMethodName() + " " + (at.getLineNumber() > 0 ? "line" : "none"));
            }
        }
    }
}

interface Runs {
    default String runs(String a) {
        return a + " by default";
    }

    static String ofNothing() {
        return " of nothing";
    }
}
