import java.lang.management.ManagementFactory;
import java.util.Arrays;

/**
 * What a pair of hooks costs above two readings of the clock, measured in turns in one run; medians and minima over
 * the repeats, which are short, so that most of them run without being interrupted on a machine that others use too.
 * The arguments: number of threads, repeats.
 */
public final class HooksBench {
    private static final int PAIRS = 20_000;
    private static volatile long sink;

    public static void main(String[] arguments) throws Exception {
        int threads = Integer.parseInt(arguments[0]);
        int repeats = Integer.parseInt(arguments[1]);
        double[][] clock = new double[threads][repeats];
        double[][] hooks = new double[threads][repeats];
        double[] allocated = new double[threads];
        Thread[] all = new Thread[threads];
        for (int t = 0; t < threads; t++) {
            int self = t;
            all[t] = new Thread(() -> allocated[self] = measure(clock[self], hooks[self]));
            all[t].start();
        }
        for (Thread thread : all) {
            thread.join();
        }
        double clockMedian = 0, hooksMedian = 0, clockMin = 0, hooksMin = 0, bytes = 0;
        for (int t = 0; t < threads; t++) {
            Arrays.sort(clock[t]);
            Arrays.sort(hooks[t]);
            clockMedian = Math.max(clockMedian, clock[t][repeats / 2]);
            hooksMedian = Math.max(hooksMedian, hooks[t][repeats / 2]);
            clockMin = Math.max(clockMin, clock[t][0]);
            hooksMin = Math.max(hooksMin, hooks[t][0]);
            bytes = Math.max(bytes, allocated[t]);
        }
        System.out.printf(
            "java %-9s trace %-3s %d thread%s  median: clock pair %5.1f, hooks pair %5.1f, difference %5.1f ns"
                + "   minimum: %5.1f, %5.1f, %5.1f ns   allocated %.4f B a pair%n",
            System.getProperty("java.version"), "off".equals(System.getProperty("weave.trace")) ? "off" : "on", threads,
            threads == 1 ? " " : "s", clockMedian, hooksMedian, hooksMedian - clockMedian, clockMin, hooksMin,
            hooksMin - clockMin, bytes);
    }

    private static double measure(double[] clock, double[] hooks) {
        com.sun.management.ThreadMXBean bean = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        for (int i = 0; i < 500; i++) {
            sink += Loops.clocks(PAIRS) + Loops.pairs(PAIRS);
        }
        long id = Thread.currentThread().getId();
        long allocated = 0;
        boolean off = "off".equals(System.getProperty("weave.trace"));
        for (int i = 0; i < clock.length; i++) {
            long a = System.nanoTime();
            sink += off ? nothing(PAIRS) : Loops.clocks(PAIRS);
            long b = System.nanoTime();
            long before = bean.getThreadAllocatedBytes(id);
            long c = System.nanoTime();
            sink += Loops.pairs(PAIRS);
            long d = System.nanoTime();
            allocated += bean.getThreadAllocatedBytes(id) - before;
            clock[i] = (b - a) / (double) PAIRS;
            hooks[i] = (d - c) / (double) PAIRS;
        }
        return allocated / (double) PAIRS / clock.length;
    }

    /** What stands between the hooks, alone: the floor when tracing is off. */
    private static long nothing(int n) {
        long sum = 0;
        for (int i = 0; i < n; i++) {
            sum ^= i * 31;
            sum += i;
        }
        return sum;
    }
}
