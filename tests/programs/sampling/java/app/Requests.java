package app;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.atomic.AtomicLong;

/** Makes as many requests in each of a few threads as a line of the input says, and tells what they came to. */
public final class Requests {
    private static final int THREADS = 3;
    private static final AtomicLong sum = new AtomicLong();

    public static void main(String[] arguments) throws Exception {
        System.out.println(THREADS);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        int step = 0;
        for (String line; (line = in.readLine()) != null; step++) {
            final int n = Integer.parseInt(line);
            Thread[] all = new Thread[THREADS];
            for (int i = 0; i < THREADS; i++) {
                Runnable work = new Runnable() {
                    @Override
                    public void run() {
                        for (int k = 0; k < n; k++) {
                            serve(k);
                        }
                    }
                };
                all[i] = new Thread(work, "step " + step + "." + i);
                all[i].start();
            }
            for (Thread t : all) {
                t.join();
            }
            System.out.println(sum.get());
        }
    }

    /** One request: they take turns. */
    static void serve(int k) {
        audit(k);
        if (k % 2 == 0) {
            sum.addAndGet(order(k, 2));
            return;
        }
        try {
            report(k);
        } catch (IllegalStateException e) {
            sum.incrementAndGet();
        }
    }

    /** Calls itself, and what fails. */
    static long order(int k, int deep) {
        long result = deep == 0 ? load(k) : order(k, deep - 1);
        try {
            fails(k);
        } catch (IllegalStateException e) {
            result += load(k + deep);
        }
        return result;
    }

    /** Fails itself. */
    static long report(int k) {
        long result = load(k) + rare(k) + shared(k);
        if (result >= 0) {
            throw new IllegalStateException("always");
        }
        return result;
    }

    static long load(int k) {
        long result = 0;
        for (int i = 0; i < k % 5; i++) {
            result += i;
        }
        audit(k);
        return result;
    }

    static void fails(int k) {
        if (k >= 0) {
            throw new IllegalStateException("always");
        }
        sum.incrementAndGet();
    }

    /** Of another rate. */
    static long rare(int k) {
        return load(k) & 0xFFFF;
    }

    /** Of two aspects, one of which records all calls. */
    static long shared(int k) {
        long result = k;
        for (int i = 0; i < 3; i++) {
            result = result * 31 + i & 0xFFFF;
        }
        return result;
    }

    /** Always recorded. */
    static void audit(int k) {
        if (k < 0) {
            sum.decrementAndGet();
        }
    }
}
