package app;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.atomic.AtomicLong;

/** Makes as many rounds of calls in each of a few threads as a line of the input says, and tells what they came to. */
public final class Rounds {
    private static final int THREADS = 3;
    private static final AtomicLong sum = new AtomicLong();

    public static void main(String[] arguments) throws Exception {
        System.out.println(THREADS);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null;) {
            final int n = Integer.parseInt(line);
            Thread[] all = new Thread[THREADS];
            for (int i = 0; i < THREADS; i++) {
                all[i] = new Thread(new Runnable() {
                    @Override
                    public void run() {
                        for (int k = 0; k < n; k++) {
                            round(k);
                        }
                    }
                });
                all[i].start();
            }
            for (Thread t : all) {
                t.join();
            }
            System.out.println(sum.get());
        }
    }

    static void round(int k) {
        sum.addAndGet(query(k));
        try {
            fails(k);
        } catch (IllegalStateException e) {
            sum.addAndGet(noise(k));
        }
    }

    static long query(int k) {
        long result = 0;
        for (int i = 0; i < k % 7; i++) {
            result += i;
        }
        return result + summed(k);
    }

    static void fails(int k) {
        if (counted(k) >= 0) {
            throw new IllegalStateException("always");
        }
        sum.incrementAndGet();
    }

    static long noise(int k) {
        long result = k;
        for (int i = 0; i < 3; i++) {
            result = result * 31 + i & 0xFFFF;
        }
        return result;
    }

    static long summed(int k) {
        return k * 31L + 7 & 0xFF;
    }

    static int counted(int k) {
        return k & 0x7FFF | 1;
    }
}
