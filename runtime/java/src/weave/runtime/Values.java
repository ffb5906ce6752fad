package weave.runtime;

/**
 * What woven code calls to record values, right in front of the hook that begins or ends a call. {@code place} says which value
 * of the method it is, and whether it is of the call's end; {@code limit} is the longest text that is kept, in UTF-16 units;
 * {@code mask} is a table of what is not kept, or null.
 *
 * <p>Nothing here changes what the program does or throws anything of its own. Only {@link #text} runs code of the program's.
 */
public final class Values {
    /** So much of a stack trace is made a text at most. */
    private static final int LONGEST = 2_048;

    private Values() {}

    /**
     * What rules leave out of texts, from now on. Called where a method begins, in front of anything that is recorded of it. {@code mask} is
     * a table of what is masked, or null; {@code how} has flags: 1 exceptions that leave the method {@code id} have no message; 2 the mask
     * holds for values, too; 4 no messages, 8 no thread names, 16 no command line.
     */
    public static void hold(String mask, int how, int id) {
        Hooks.hold(mask, how, id);
    }

    /** The first of two values that is not null. */
    public static Object first(Object one, Object other) {
        return one != null ? one : other;
    }

    /**
     * The stack trace of an exception, for rules that record it ({@code exception.stacktrace}): what it says itself, and where it was thrown, as
     * much as a value may have.
     */
    public static String stackTrace(Throwable t) {
        if (t == null) {
            return null;
        }
        StringBuilder out = new StringBuilder(String.valueOf(t));
        StackTraceElement[] frames = t.getStackTrace();
        for (int i = 0; i < frames.length && out.length() < LONGEST; i++) {
            out.append("\n\tat ").append(frames[i]);
        }
        return out.toString();
    }

    public static void value(boolean v, int place, int limit, String mask, int id) {
        Hooks.value(Format.BOOLEAN, v ? 1 : 0, place, limit, mask, id);
    }

    public static void value(char v, int place, int limit, String mask, int id) {
        Hooks.value(Format.UNIT, v, place, limit, mask, id);
    }

    public static void value(int v, int place, int limit, String mask, int id) {
        Hooks.value(Format.SIGNED, v, place, limit, mask, id);
    }

    public static void value(long v, int place, int limit, String mask, int id) {
        Hooks.value(Format.SIGNED, v, place, limit, mask, id);
    }

    public static void value(float v, int place, int limit, String mask, int id) {
        Hooks.value(Format.FLOAT, Float.floatToRawIntBits(v) & 0xFFFF_FFFFL, place, limit, mask, id);
    }

    public static void value(double v, int place, int limit, String mask, int id) {
        Hooks.value(Format.DOUBLE, Double.doubleToRawLongBits(v), place, limit, mask, id);
    }

    public static void value(String v, int place, int limit, String mask, int id) {
        Hooks.value(v, Format.STRING, place, limit, mask, id);
    }

    public static void value(Object v, int place, int limit, String mask, int id) {
        Hooks.value(v, Format.STRING, place, limit, mask, id);
    }

    /** The same for what the object's {@code toString} says. While that runs, its thread records nothing. */
    public static void text(Object v, int place, int limit, String mask, int id) {
        Hooks.value(v, Format.OTHER, place, limit, mask, id);
    }

    // The same of a call that can be switched: nothing, unless it is recorded.

    public static void value(boolean v, int place, int limit, String mask, int id, int state) {
        if (isRecorded(state, mask, id)) {
            value(v, place, limit, mask, id);
        }
    }

    public static void value(char v, int place, int limit, String mask, int id, int state) {
        if (isRecorded(state, mask, id)) {
            value(v, place, limit, mask, id);
        }
    }

    public static void value(int v, int place, int limit, String mask, int id, int state) {
        if (isRecorded(state, mask, id)) {
            value(v, place, limit, mask, id);
        }
    }

    public static void value(long v, int place, int limit, String mask, int id, int state) {
        if (isRecorded(state, mask, id)) {
            value(v, place, limit, mask, id);
        }
    }

    public static void value(float v, int place, int limit, String mask, int id, int state) {
        if (isRecorded(state, mask, id)) {
            value(v, place, limit, mask, id);
        }
    }

    public static void value(double v, int place, int limit, String mask, int id, int state) {
        if (isRecorded(state, mask, id)) {
            value(v, place, limit, mask, id);
        }
    }

    public static void value(String v, int place, int limit, String mask, int id, int state) {
        if (isRecorded(state, mask, id)) {
            value(v, place, limit, mask, id);
        }
    }

    public static void value(Object v, int place, int limit, String mask, int id, int state) {
        if (v instanceof Late) {
            late((Late) v, place, limit, mask, id, state);
        } else if (isRecorded(state, mask, id)) {
            value(v, place, limit, mask, id);
        }
    }

    /** The same for what the object's {@code toString} says. While that runs, its thread records nothing. */
    public static void text(Object v, int place, int limit, String mask, int id, int state) {
        if (isRecorded(state, mask, id)) {
            text(v, place, limit, mask, id);
        }
    }

    private static void late(Late v, int place, int limit, String mask, int id, int state) {
        if (state == Spans.STAYS) {
            Hooks.late(v, place, limit, mask, id);
        } else if (isRecorded(state, mask, id)) {
            value(v.value(), place, limit, mask, id);
        }
    }

    /** Whether a call in this state is recorded. Its mask holds for messages and names in any case. */
    private static boolean isRecorded(int state, String mask, int id) {
        if (Switched.isRecorded(state)) {
            return true;
        }
        if (mask != null) {
            Hooks.hold(mask, 0, id);
        }
        return false;
    }
}
