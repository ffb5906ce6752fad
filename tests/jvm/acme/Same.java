package acme;

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
}
