package bench;

import java.util.function.IntSupplier;

/** The hooks: two arguments at the start, the result at the end. */
public final class Log {
    public static int calls;
    public static int sum;
    /** Not final: what is called on it may be woven, as far as weaving knows. */
    public static Object seen = "";

    public static void begin(int n, String text) {
        calls += n + text.length();
    }

    public static int around(IntSupplier proceed) {
        return proceed.getAsInt();
    }

    public static void end(int result) {
        sum += result;
    }

    /** The same, but for a call that cannot be followed; it is never made. */
    public static void beginFlagged(int n, String text) {
        calls += n + text.length();
        if (n == Integer.MIN_VALUE) {
            seen.hashCode();
        }
    }
}
