package bench;

import java.util.Arrays;

/** Times calls of `work` in turns, slice by slice; prints the least and the median of each, in nanoseconds a call. */
public final class Bench {
    private static final int CALLS = 20_000;
    private static int sink;

    interface Slice {
        int run();
    }

    public static void main(String[] arguments) {
        int slices = Integer.parseInt(arguments[0]);
        String[] names = {"without", "by hand", "weave", "weave, flag", "weave, guard = false", "Byte Buddy, inlined", "Byte Buddy, delegated", "AspectJ",
            "around by hand", "weave, around", "Byte Buddy, around", "AspectJ, around"};
        Slice[] all = {Bench::plain, Bench::byHand, Bench::woven, Bench::flagged, Bench::bare, Bench::inlined, Bench::delegated, Bench::aspectj,
            Bench::aroundByHand, Bench::wovenAround, Bench::buddyAround, Bench::aspectjAround};
        for (int i = 0; i < 2_000; i++) {
            for (Slice slice : all) {
                sink += slice.run();
            }
        }
        double[][] times = new double[all.length][slices];
        for (int i = 0; i < slices; i++) {
            for (int k = 0; k < all.length; k++) {
                long start = System.nanoTime();
                sink += all[k].run();
                times[k][i] = (System.nanoTime() - start) / (double) CALLS;
            }
        }
        for (double[] of : times) {
            Arrays.sort(of);
        }
        for (int k = 0; k < all.length; k++) {
            double[] byHand = times[k < 8 ? 1 : 8];
            System.out.printf("java %-9s %-22s least %6.2f median %6.2f   beyond the call by hand %+6.2f %+6.2f%n", System.getProperty("java.version"),
                names[k], times[k][0], times[k][slices / 2], times[k][0] - byHand[0], times[k][slices / 2] - byHand[slices / 2]);
        }
    }

    // LOOPS
}
