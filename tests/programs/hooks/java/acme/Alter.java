package acme;

/** Hooks that change what methods do. The C# one beside it does the same. */
public final class Alter {
    public static String clean(String text) {
        return "<" + text + ">";
    }

    public static int more(int n) {
        return n + 1;
    }

    public static String fallback(Throwable e) {
        Log.line("  falls back from " + e.getMessage());
        return "instead of " + e.getMessage();
    }

    public static int number(Throwable e) {
        return e.getMessage().length();
    }

    public static RuntimeException translate(Throwable e) {
        return new IllegalStateException("translated " + e.getMessage());
    }

    public static String cached(String key) {
        return key.equals("hit") ? "cached" : null;
    }

    public static boolean off(int n) {
        return n == 0;
    }

    public static String badText(Object value) {
        throw new IllegalStateException("hook with " + Log.show(value));
    }

    public static int badNumber() {
        throw new IllegalStateException("hook");
    }

    public static String badFallback(Throwable e) {
        throw new IllegalStateException("hook for " + e.getMessage());
    }

    public static RuntimeException badThrow(Throwable e) {
        throw new IllegalStateException("hook for " + e.getMessage());
    }

    public static boolean badOff(String method) {
        throw new IllegalStateException("hook of " + method);
    }

    public static Object begin(String who) {
        Log.line("  " + who + " begins");
        return who;
    }

    public static void end(Object state, Object result) {
        Log.line("  " + Log.show(state) + " ends with " + Log.show(result));
    }

    public static void failed(Object state, Throwable e) {
        Log.line("  " + Log.show(state) + " fails with " + e.getMessage());
    }

    public static void note(Object[] args, Object result) {
        Log.line("  note " + Log.list(args) + " " + Log.show(result));
    }

    /** Calls woven code, which has this very hook. */
    public static String twice(Object self, String text) {
        return text + "/" + self.toString();
    }
}
