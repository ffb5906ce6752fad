package acme;

/** Own hooks that take everything, and check it: what they get at the end of a call is what they got at its start. */
public final class All {
    private static final class Call {
        final Object self;
        final Object[] arguments;

        Call(Object self, Object[] arguments) {
            this.self = self;
            this.arguments = arguments;
        }
    }

    private static int begun;
    private static int ended;
    private static String problem = "";

    public static Object begin(Object self, Object[] arguments) {
        begun++;
        return new Call(self, arguments);
    }

    public static void end(Object state, Object self, Object[] arguments, Object result, long duration) {
        check(state, self, arguments, duration);
    }

    public static void failed(Object state, Object self, Object[] arguments, Throwable thrown, long duration) {
        check(state, self, arguments, duration);
        if (thrown == null) {
            problem = "no exception";
        }
    }

    public static Object end(Object result) {
        ended++;
        return result;
    }

    public static long failed(Throwable thrown) {
        ended++;
        return thrown.hashCode();
    }

    private static void check(Object state, Object self, Object[] arguments, long duration) {
        ended++;
        Call call = (Call) state;
        if (call.self != self) {
            problem = "another object: " + call.self + ", " + self;
        }
        if (call.arguments.length != arguments.length) {
            problem = "another number of arguments";
            return;
        }
        for (int i = 0; i < arguments.length; i++) {
            Object a = call.arguments[i];
            Object b = arguments[i];
            boolean boxed = a instanceof Number || a instanceof Character || a instanceof Boolean;
            if (boxed ? !a.equals(b) : a != b) {
                problem = "argument " + i + " was " + a + " and is " + b;
            }
        }
        if (duration < 0) {
            problem = "a negative duration";
        }
    }

    /** What is wrong after everything returned; empty if nothing is. */
    public static String verdict() {
        return begun != ended ? begun + " calls began and " + ended + " ended" : problem;
    }

    /** So that tests see that the hooks ran. */
    public static int begun() {
        return begun;
    }
}
