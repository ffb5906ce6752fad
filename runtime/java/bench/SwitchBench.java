import java.util.Arrays;
import weave.runtime.Hooks;
import weave.runtime.Modest;
import weave.runtime.Switched;

/**
 * What a pair of hooks costs of a method that can be switched, by its mode, beside the plain pair. In turns in one run; medians and minima
 * over the repeats, above what stands between the hooks alone. The argument: repeats.
 */
public final class SwitchBench {
    private static final int PAIRS = 20_000;
    private static final int ID = 4711;
    private static volatile long sink;

    public static void main(String[] arguments) {
        int repeats = Integer.parseInt(arguments[0]);
        Hooks.enter(ID);
        Hooks.exit(ID);
        double floor = best(repeats, "nothing")[1];
        for (String mode : new String[] {"off", "count", "aggregate", "record"}) {
            Modest.set(ID, mode);
            double[] pair = best(repeats, "switched");
            System.out.printf("java %-9s switched, %-9s  median %5.1f, minimum %5.1f ns a pair%n", System.getProperty("java.version"), mode,
                pair[0] - floor, pair[1] - floor);
        }
        Modest.set(ID, "rules");
        for (String how : new String[] {"below", "alone"}) {
            double[] pair = best(repeats, how);
            floor *= how.equals("alone") ? 4 : 1; // as the plain ones
            System.out.printf("java %-9s sampled 1/100, %-6s median %5.1f, minimum %5.1f ns a pair%n", System.getProperty("java.version"),
                how, pair[0] - floor, pair[1] - floor);
        }
        floor /= 4;
        double[] plain = best(repeats, "plain");
        floor *= 4; // those come one by one
        System.out.printf("java %-9s plain                median %5.1f, minimum %5.1f ns a pair%n", System.getProperty("java.version"), plain[0] - floor,
            plain[1] - floor);
    }

    private static double[] best(int repeats, String what) {
        double[] all = new double[repeats];
        for (int i = 0; i < 500; i++) {
            run(what);
        }
        for (int i = 0; i < repeats; i++) {
            long begin = System.nanoTime();
            run(what);
            all[i] = (System.nanoTime() - begin) / (double) PAIRS;
        }
        Arrays.sort(all);
        return new double[] {all[repeats / 2], all[0]};
    }

    private static void run(String what) {
        switch (what) {
            case "nothing" -> sink += nothing(PAIRS);
            case "plain" -> sink += Loops.pairs(PAIRS);
            case "below" -> sink += below(PAIRS);
            case "alone" -> sink += alone(PAIRS);
            default -> sink += switched(PAIRS);
        }
    }

    private static long nothing(int n) {
        long sum = 0;
        for (int i = 0; i < n; i += 4) {
            sum ^= i * 31;
            sum += i;
        }
        return sum;
    }

    /** Several in each other, so that what costs little does not hide behind what stands between. */
    private static long switched(int n) {
        long sum = 0;
        for (int i = 0; i < n; i += 4) {
            int a = Switched.enter(0x10, ID);
            int b = Switched.enter(0x10, ID);
            int c = Switched.enter(0x10, ID);
            int d = Switched.enter(0x10, ID);
            sum ^= i * 31;
            sum += i;
            Switched.exit(d, ID);
            Switched.exit(c, ID);
            Switched.exit(b, ID);
            Switched.exit(a, ID);
        }
        return sum;
    }

    /** All but the first in each other, of an outermost one. */
    private static long below(int n) {
        long sum = 0;
        for (int i = 0; i < n; i += 4) {
            int a = Switched.enter(100 << 8 | 0x18, ID);
            int b = Switched.enter(100 << 8 | 0x18, ID);
            int c = Switched.enter(100 << 8 | 0x18, ID);
            int d = Switched.enter(100 << 8 | 0x18, ID);
            sum ^= i * 31;
            sum += i;
            Switched.exit(d, ID);
            Switched.exit(c, ID);
            Switched.exit(b, ID);
            Switched.exit(a, ID);
        }
        return sum;
    }

    /** Each an outermost one. */
    private static long alone(int n) {
        long sum = 0;
        for (int i = 0; i < n; i++) {
            int a = Switched.enter(100 << 8 | 0x18, ID);
            sum ^= i * 31;
            sum += i;
            Switched.exit(a, ID);
        }
        return sum;
    }
}
