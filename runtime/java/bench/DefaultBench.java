import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.function.IntToLongFunction;
import jdk.jfr.Event;
import jdk.jfr.Recording;
import jdk.jfr.StackTrace;
import weave.runtime.Hooks;

/**
 * What a pair costs in the default set-up, from the first hook on, beside what else there is: a pair of clock readings by hand,
 * a JFR event without a stack, a span of OpenTelemetry that nothing exports. One thread. The argument: millions of pairs
 * of the hooks; beyond the limit the ring has wrapped. "Worst" is of single pairs, each between two more readings of
 * the clock; the clock's own worst tells what the machine does to anybody.
 */
public final class DefaultBench {
    @StackTrace(false)
    static final class Call extends Event {
        int id;
    }

    private static final int SLICE = 20_000;
    private static volatile long sink;
    private static Tracer tracer;

    public static void main(String[] arguments) throws Exception {
        long start = System.nanoTime();
        Hooks.enter(1);
        Hooks.exit(1);
        double startUp = (System.nanoTime() - start) / 1e6;
        int slices = (int) (Double.parseDouble(arguments[0]) * 1e6 / SLICE);
        run("clock, by hand", Math.min(slices, 500), Loops::clocks, false);
        System.out.printf("java %s: first pair %.1f ms%n", System.getProperty("java.version"), startUp);
        run("clock, by hand", Math.min(slices, 500), Loops::clocks, true);
        run("weave", slices, Loops::pairs, true);
        run("clock, by hand", Math.min(slices, 500), Loops::clocks, true);
        worst("clock, by hand", DefaultBench::clockAlone);
        worst("weave", DefaultBench::pairAlone);
        Path file = Files.createTempFile("bench", ".jfr");
        try (Recording recording = new Recording()) {
            recording.enable(Call.class).withoutThreshold();
            recording.setDestination(file);
            recording.start();
            run("JFR event", 100, DefaultBench::events, false);
            run("JFR event", 100, DefaultBench::events, true);
        }
        Files.delete(file);
        tracer = SdkTracerProvider.builder().build().get("bench");
        run("OpenTelemetry span", 50, DefaultBench::spans, false);
        run("OpenTelemetry span", 50, DefaultBench::spans, true);
    }

    private static void run(String what, int slices, IntToLongFunction body, boolean told) {
        double[] each = new double[slices];
        long all = System.nanoTime();
        for (int i = 0; i < slices; i++) {
            long start = System.nanoTime();
            sink += body.applyAsLong(SLICE);
            each[i] = (System.nanoTime() - start) / (double) SLICE;
        }
        double mean = (System.nanoTime() - all) / (double) SLICE / slices;
        Arrays.sort(each);
        if (told) {
            System.out.printf("  %-20s median %6.1f ns, tenth %6.1f, mean %6.1f%n", what, each[slices / 2],
                each[slices / 10], mean);
        }
    }

    private static void worst(String what, Runnable pair) {
        long worst = 0;
        int above = 0;
        int count = 10_000_000;
        for (int i = 0; i < count; i++) {
            long start = System.nanoTime();
            pair.run();
            long took = System.nanoTime() - start;
            worst = Math.max(worst, took);
            above += took > 1_000_000 ? 1 : 0;
        }
        System.out.printf("  %-20s worst of %d: %.2f ms, above 1 ms: %d%n", what, count, worst / 1e6, above);
    }

    private static void clockAlone() {
        sink += System.nanoTime() - System.nanoTime();
    }

    private static void pairAlone() {
        Hooks.enter(4711);
        Hooks.exit(4711);
    }

    private static long events(int n) {
        for (int i = 0; i < n; i++) {
            Call call = new Call();
            call.begin();
            call.id = i;
            call.commit();
        }
        return n;
    }

    private static long spans(int n) {
        for (int i = 0; i < n; i++) {
            tracer.spanBuilder("call").startSpan().end();
        }
        return n;
    }
}
