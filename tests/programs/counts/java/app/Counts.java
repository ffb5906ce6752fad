package app;

import java.util.ArrayList;
import java.util.List;
import java.util.function.IntUnaryOperator;

/** Calls of all kinds (but no lambdas, which enjarify cannot translate), each as often in every run. The argument: how many virtual threads call as well. */
public class Counts {
    private static final int[] SEED = seed();
    private final int n;
    private long wide;

    Counts() {
        this(7);
    }

    Counts(int n) {
        super();
        this.n = n < 0 ? tiny(-n) : n;
    }

    static int[] seed() {
        return new int[] {3, 1, 4, 1, 5};
    }

    static int tiny(int x) {
        return x + 1;
    }

    int get() {
        return n;
    }

    void set(long wide) {
        this.wide = wide;
    }

    static long fact(int n) {
        return n < 2 ? 1 : n * fact(n - 1);
    }

    /** Its first instruction is where it loops to. */
    static int spin(int n) {
        while (n-- > 0) {
            if (n % 5 == 4) {
                continue;
            }
            tiny(n);
        }
        return n;
    }

    double many(int a, long b, double c, float d, String e, Object f, long g, double h) {
        return a + b + c + d + (e == null ? 0 : e.length()) + (f == this ? 1 : 0) + g + h + get();
    }

    synchronized int held(int n) {
        synchronized (SEED) {
            return tiny(n) + SEED[n % SEED.length];
        }
    }

    static void fails(int i) {
        if (i % 3 == 0) {
            throw new IllegalStateException("no " + i);
        }
    }

    static int caught(int i) {
        try {
            fails(i);
            return i;
        } catch (IllegalStateException e) {
            return -1;
        } finally {
            tiny(i);
        }
    }

    static long work(int rounds) {
        long sum = 0;
        IntUnaryOperator twice = new IntUnaryOperator() {
            @Override
            public int applyAsInt(int x) {
                return tiny(x) * 2;
            }
        };
        for (int i = 0; i < rounds; i++) {
            Counts c = i % 2 == 0 ? new Counts(-i) : new Counts();
            c.set(i);
            sum += c.wide + c.get() + fact(i % 9) + spin(i % 11) + c.held(i) + caught(i) + twice.applyAsInt(i);
            sum += (long) c.many(i, i, i, i, "x", c, i, i);
        }
        return sum;
    }

    public static void main(String[] args) throws Exception {
        long[] sums = new long[30];
        List<Thread> all = new ArrayList<>();
        for (int t = 0; t < sums.length; t++) {
            int at = t;
            Thread thread = new Thread() {
                @Override
                public void run() {
                    sums[at] = work(5 * at);
                }
            };
            thread.start();
            all.add(thread);
            if (t % 7 == 0) {
                thread.join();
            }
        }
        int more = args.length > 0 ? Integer.parseInt(args[0]) : 0;
        for (int i = 0; i < more; i++) {
            all.add((Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, new Runnable() {
                @Override
                public void run() {
                    work(10);
                }
            }));
        }
        for (Thread thread : all) {
            thread.join();
        }
        long sum = work(500);
        for (long one : sums) {
            sum += one;
        }
        System.out.println(sum);
    }
}
