package android.os;

import java.io.FileWriter;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.ArrayDeque;
import java.util.Map;
import java.util.TreeMap;

/** Stands for Android's on a JVM: counts the sections of each name, and finds those that have no end or no beginning. */
public final class Trace {
    private static final Map<String, Integer> COUNTS = new TreeMap<>();
    private static final ThreadLocal<ArrayDeque<String>> OPEN = ThreadLocal.withInitial(ArrayDeque::new);
    private static int open;

    static {
        Runtime.getRuntime().addShutdownHook(new Thread(Trace::report));
    }

    private Trace() {}

    public static void beginSection(String name) {
        if (name.length() > 127) {
            throw new IllegalArgumentException("sectionName is too long");
        }
        OPEN.get().push(name);
        synchronized (COUNTS) {
            COUNTS.merge(name, 1, Integer::sum);
            open++;
        }
    }

    public static void endSection() {
        boolean begun = OPEN.get().poll() != null;
        synchronized (COUNTS) {
            if (begun) {
                open--;
            } else {
                COUNTS.merge("an end without a beginning", 1, Integer::sum);
            }
        }
    }

    private static void report() {
        try (PrintWriter out = new PrintWriter(new FileWriter(System.getenv("SECTIONS")))) {
            synchronized (COUNTS) {
                COUNTS.forEach((name, count) -> out.println(count + " " + name));
                out.println(open + " open");
            }
        } catch (IOException e) {
            e.printStackTrace();
        }
    }
}
