package acme;

import java.util.Objects;
import java.util.function.BooleanSupplier;
import java.util.function.DoubleSupplier;
import java.util.function.IntSupplier;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/** Hooks that may change what a method does, and do not. */
public final class Same {
    private Same() { }

    public static String text(String value) {
        return value;
    }

    public static int number(int value) {
        return value;
    }

    public static long wide(long value) {
        return value;
    }

    public static boolean truth(boolean value) {
        return value;
    }

    public static Object object(Object value) {
        return value;
    }

    public static String noText(String method) {
        return null;
    }

    public static Object nothing() {
        return null;
    }

    public static boolean never(String method) {
        return false;
    }

    public static Throwable thrown(Throwable exception) {
        return exception;
    }

    public static String fallback(Throwable exception) {
        return exception.getMessage();
    }

    public static int zero(Throwable exception) {
        return 0;
    }

    public static Object begin(String method) {
        return method;
    }

    public static void end(Object state) { }

    public static <T> T proceed(Supplier<T> body) {
        return body.get();
    }

    public static boolean proceed(BooleanSupplier body) {
        return body.getAsBoolean();
    }

    public static int proceed(IntSupplier body) {
        return body.getAsInt();
    }

    public static long proceed(LongSupplier body) {
        return body.getAsLong();
    }

    public static double proceed(DoubleSupplier body) {
        return body.getAsDouble();
    }

    public static void proceed(Runnable body) {
        body.run();
    }

    /** It asks for an object, so it is not copied. */
    public static <T> T held(Supplier<T> body) {
        return Objects.requireNonNull(body).get();
    }

    public static boolean held(BooleanSupplier body) {
        return Objects.requireNonNull(body).getAsBoolean();
    }

    public static int held(IntSupplier body) {
        return Objects.requireNonNull(body).getAsInt();
    }

    public static long held(LongSupplier body) {
        return Objects.requireNonNull(body).getAsLong();
    }

    public static double held(DoubleSupplier body) {
        return Objects.requireNonNull(body).getAsDouble();
    }

    public static void held(Runnable body) {
        Objects.requireNonNull(body).run();
    }
}
