package bench;

import java.util.function.Supplier;

/** The hook. */
public final class Log {
    private Log() {}

    public static Object around(Supplier<Object> proceed) {
        return proceed.get();
    }
}
