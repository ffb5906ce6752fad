import java.lang.management.ManagementFactory;
import java.util.Arrays;
import weave.runtime.Hooks;
import weave.runtime.Values;

/**
 * What a recorded string of 40 characters costs beyond the pair of its call, and a recorded number, measured in turns in one run; medians and
 * minima over the repeats. The argument: repeats.
 */
public final class ValuesBench {
    private static final int CALLS = 5_000;
    private static final String[] TEXTS = new String[64];

    private interface Loop {
        void run();
    }

    public static void main(String[] arguments) {
        for (int i = 0; i < TEXTS.length; i++) {
            TEXTS[i] = String.format("select name from orders where id = %05d", i).substring(0, 40);
        }
        int repeats = Integer.parseInt(arguments[0]);
        Loop[] loops = {ValuesBench::pairs, ValuesBench::texts, ValuesBench::numbers};
        double[][] took = new double[loops.length][repeats];
        com.sun.management.ThreadMXBean bean = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        long id = Thread.currentThread().getId();
        long allocated = 0;
        for (int i = -500; i < repeats; i++) {
            for (int n = 0; n < loops.length; n++) {
                long before = bean.getThreadAllocatedBytes(id);
                long start = System.nanoTime();
                loops[n].run();
                long end = System.nanoTime();
                if (i >= 0) {
                    took[n][i] = (end - start) / (double) CALLS;
                    allocated += bean.getThreadAllocatedBytes(id) - before;
                }
            }
        }
        for (double[] times : took) {
            Arrays.sort(times);
        }
        int middle = repeats / 2;
        System.out.printf("java %-9s median: pair %.1f, a string beyond it %.1f, a number %.1f ns   minimum: %.1f, %.1f, %.1f ns   allocated %.4f B a call%n",
            System.getProperty("java.version"), took[0][middle], took[1][middle] - took[0][middle], took[2][middle] - took[0][middle],
            took[0][0], took[1][0] - took[0][0], took[2][0] - took[0][0], allocated / (double) repeats / CALLS / loops.length);
    }

    private static void pairs() {
        for (int i = 0; i < CALLS; i++) {
            Hooks.enter(7);
            Hooks.exit(7);
        }
    }

    private static void texts() {
        for (int i = 0; i < CALLS; i++) {
            Values.value(TEXTS[i & 63], 0, 128, null, 7);
            Hooks.enter(7);
            Hooks.exit(7);
        }
    }

    private static void numbers() {
        for (int i = 0; i < CALLS; i++) {
            Values.value(i, 0, 128, null, 7);
            Hooks.enter(7);
            Hooks.exit(7);
        }
    }
}
