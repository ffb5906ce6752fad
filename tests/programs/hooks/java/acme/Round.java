package acme;

import java.util.concurrent.Callable;
import java.util.function.IntSupplier;
import java.util.function.IntUnaryOperator;
import java.util.function.LongBinaryOperator;
import java.util.function.Supplier;

/** Hooks in the places of bodies. */
public final class Round {
    /** An interface of the library's own, whose method may throw what the method does. */
    public interface Body {
        Object run() throws Exception;
    }

    /** It has another one's method. */
    public interface Named extends Supplier<String> {
        default String name() {
            return "named";
        }
    }

    public static <T> T retry(Supplier<T> proceed, int times) {
        for (int i = 1; ; i++) {
            try {
                return proceed.get();
            } catch (RuntimeException e) {
                Log.line("  again after " + e.getMessage());
                if (i == times) {
                    throw e;
                }
            }
        }
    }

    /** It never runs the body. */
    public static String never(String method, Supplier<String> proceed) {
        return "not " + method;
    }

    public static int twice(IntSupplier proceed) {
        return proceed.getAsInt() + proceed.getAsInt();
    }

    public static void elsewhere(Runnable proceed) throws InterruptedException {
        Thread thread = new Thread(proceed, "elsewhere");
        thread.start();
        thread.join();
    }

    public static int traced(int n, IntSupplier proceed) {
        Log.line("  in " + n);
        int result = proceed.getAsInt();
        Log.line("  out " + n + " = " + result);
        return result;
    }

    public static int next(int n, IntUnaryOperator proceed) {
        return proceed.applyAsInt(n + 1) * 10;
    }

    public static long swapped(LongBinaryOperator proceed, long a, long b) {
        return proceed.applyAsLong(b, a);
    }

    public static Object any(Object self, String method, String signature, Object[] args, Body proceed) throws Exception {
        Log.line("  any " + method + signature + " of " + Log.list(args) + (self == null ? "" : " with this"));
        Object result = proceed.run();
        Log.line("  any " + method + " gave " + Log.show(result));
        return result;
    }

    public static Object inner(Callable<?> proceed) throws Exception {
        Log.line("    inner begins");
        Object result = proceed.call();
        Log.line("    inner ends");
        return result;
    }

    public static String named(Named proceed) {
        return proceed.name() + " " + proceed.get();
    }

    public static long both(Supplier<Long> boxed, java.util.function.LongSupplier plain) {
        return boxed.get() + plain.getAsLong();
    }

    public static Object wrong() {
        return "a text";
    }

    public static Integer seven() {
        return 7;
    }
}
