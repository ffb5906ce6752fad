package acme;

import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiFunction;
import java.util.function.DoubleSupplier;
import java.util.function.IntBinaryOperator;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/** Hooks that can be copied into the classes whose methods they lie around. The test also compiles them as `synchronized`: those cannot. */
public final class Copied {
    /** It has state, and is initialised first. */
    public static final class Counted {
        public static final AtomicInteger CALLS = new AtomicInteger();

        static {
            System.out.println("  Counted begins");
        }

        public static Object count(Supplier<?> proceed) {
            int n = CALLS.incrementAndGet();
            Object result = proceed.get();
            System.out.println("  call " + n + " gave " + result);
            return result;
        }

        /** Its class is initialised before the body runs, and not by the body's result. */
        public static Object late(Supplier<?> proceed) {
            return proceed.get() + " of " + CALLS;
        }
    }

    public static <T> T same(Supplier<T> proceed) {
        return proceed.get();
    }

    public static <T> T retry(Callable<T> proceed, int times) throws Exception {
        for (int i = 1; ; i++) {
            try {
                return proceed.call();
            } catch (IllegalStateException e) {
                System.out.println("  again after " + e.getMessage());
                if (i == times) {
                    throw e;
                }
            } finally {
                System.out.println("  tried " + i);
            }
        }
    }

    public static void twice(String method, Runnable proceed) {
        proceed.run();
        System.out.println("  once more " + method);
        proceed.run();
    }

    public static Object never(Supplier<Object> proceed, Object[] args) {
        return args.length == 0 ? proceed.get() : null;
    }

    public static long wide(LongSupplier proceed, long a, double b) {
        long sum = proceed.getAsLong();
        for (long i = a; i > 0; i--) {
            sum += (long) b;
        }
        return sum + 1234567890123L;
    }

    public static double half(DoubleSupplier proceed) {
        double d = proceed.getAsDouble();
        return d > 1e9 ? 0.5 : d / 2;
    }

    public static int nested(IntBinaryOperator proceed, int a) {
        return proceed.applyAsInt(proceed.applyAsInt(a, 1), proceed.applyAsInt(2, a));
    }

    /** It takes objects, of which each must be what the method takes. */
    public static Object objects(BiFunction<Object, Object, Object> proceed, Object a, Object b) {
        return a.equals("swapped") ? proceed.apply(b, a) : proceed.apply(a, b);
    }

    public static String chosen(Supplier<String> proceed, int n) {
        StringBuilder text = new StringBuilder(n > 0 ? "more " : "less ");
        switch (n) {
            case 1: text.append(proceed.get()); break;
            case 2: text.append("two"); break;
            case 1000: text.append("many"); break;
            default: text.append(n);
        }
        switch (n) {
            case 0: case 1: case 2: return text.append('.').toString();
            default: return text.toString();
        }
    }

    public static Object locked(Supplier<Object> proceed, Object self) {
        synchronized (self) {
            return proceed.get();
        }
    }

    public static Object fallback(Supplier<Object> proceed) {
        try {
            return proceed.get();
        } catch (RuntimeException | StackOverflowError e) {
            return "instead of " + e.getClass().getSimpleName();
        }
    }

    /** Hooks that must not be copied, for the reason that their names tell. */
    public static final class Refused {
        private static int calls;

        public static Object lambda(Supplier<Object> proceed) {
            Supplier<Object> other = () -> "a lambda's";
            return proceed == null ? other.get() : proceed.get();
        }

        public static Object escapes(Supplier<Object> proceed) {
            return Objects.requireNonNull(proceed).get();
        }

        public static Object stored(Supplier<Object> proceed) {
            Supplier<Object> other = proceed;
            return other.get();
        }

        public static Object joined(BiFunction<Object, Object, Object> proceed, Object a, Object b) {
            return proceed.apply(a == null ? b : a, b);
        }

        public static Object hidden(Supplier<Object> proceed) {
            calls++;
            return proceed.get();
        }

        public static Object hiddenClass(Supplier<Object> proceed) {
            Object result = proceed.get();
            return result instanceof Hidden ? null : result;
        }

        public static synchronized Object locks(Supplier<Object> proceed) {
            return proceed.get();
        }

        public static Object looks(Supplier<Object> proceed) throws ClassNotFoundException {
            Class.forName("java.lang.String");
            return proceed.get();
        }

        public static Object elsewhere(Supplier<Object> proceed) {
            java.util.logging.Level level = java.util.logging.Level.FINE;
            return level == null ? null : proceed.get();
        }
    }

    static final class Hidden {
    }
}
