import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import weave.runtime.Hooks;

/**
 * How long single pairs of hooks take at worst while the trace grows, and in the ring after it. The arguments: threads, and
 * millions of pairs (16 bytes each) of all threads in a phase; each of the two phases is that long. Each pair is timed from the one
 * before, and printed are the worst, how many took more than a millisecond, and the mean. With the trace off the same
 * loops tell what the machine does to anybody. Linux says how long a thread waited for a processor: "own" is without that.
 */
public final class StallBench {
    private static final int WARM = 100_000;
    private static final long MILLISECOND = 1_000_000L;

    public static void main(String[] arguments) throws Exception {
        int threads = Integer.parseInt(arguments[0]);
        int pairs = (int) (Double.parseDouble(arguments[1]) * 1e6 / threads);
        String trace = "off".equals(System.getProperty("weave.trace")) ? "off" : "on";
        for (String phase : new String[] {"fresh", "ring"}) {
            long[][] each = new long[threads][];
            Thread[] all = new Thread[threads];
            long start = System.nanoTime();
            for (int i = 0; i < threads; i++) {
                int self = i;
                all[i] = new Thread(() -> {
                    run(WARM); // compiles the loop, which stops the thread as well
                    each[self] = run(pairs - WARM);
                });
                all[i].start();
            }
            for (Thread t : all) {
                t.join();
            }
            double seconds = (System.nanoTime() - start) / 1e9;
            long own = Arrays.stream(each).mapToLong(e -> e[3]).max().getAsLong();
            long ownAbove = Arrays.stream(each).mapToLong(e -> e[4]).sum();
            long worst = Arrays.stream(each).mapToLong(e -> e[0]).max().getAsLong();
            long above = Arrays.stream(each).mapToLong(e -> e[1]).sum();
            double mean = Arrays.stream(each).mapToLong(e -> e[2]).sum() / (double) (pairs - WARM) / threads;
            System.out.printf("java %s trace %-3s %-5s %d thread%s %5.1f s   worst %6.2f ms   above 1 ms %4d   own: %6.2f ms, %4d"
                + "   mean %6.1f ns%n",
                System.getProperty("java.version"), trace, phase, threads, threads == 1 ? " " : "s", seconds, worst / 1e6, above, own / 1e6, ownAbove,
                mean);
        }
    }

    /** The worst pair, how many took more than a millisecond, and all; then the first two without waiting for a processor. */
    private static long[] run(int pairs) {
        long worst = 0;
        long above = 0;
        long own = 0;
        long ownAbove = 0;
        long start = System.nanoTime();
        long last = start;
        long waited = waited();
        for (int i = 0; i < pairs; i++) {
            Hooks.enter(4711);
            Hooks.exit(4711);
            long now = System.nanoTime();
            long took = now - last;
            last = now;
            if (took > worst) {
                worst = took;
            }
            if (took > MILLISECOND || i % 65_536 == 0) {
                long before = waited;
                waited = waited();
                if (took > MILLISECOND) {
                    above++;
                    own = Math.max(own, took - (waited - before));
                    ownAbove += took - (waited - before) > MILLISECOND ? 1 : 0;
                }
                last = System.nanoTime();
            }
        }
        return new long[] {worst, above, last - start, own, ownAbove};
    }

    /** How long this thread has waited for a processor so far, in nanoseconds; 0 where nobody says so. */
    private static long waited() {
        try {
            return Long.parseLong(Files.readString(Path.of("/proc/thread-self/schedstat")).split(" ")[1]);
        } catch (Exception unknown) {
            return 0;
        }
    }
}
