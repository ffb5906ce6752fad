package acme;

/** A library of hooks: each prints a line. The C# one beside it prints the same. */
public final class Log {
    private static int depth;

    public static Object begin(String method, Object self, Object[] args) {
        line("> " + method + " " + name(self) + " " + list(args));
        return method;
    }

    public static void end(Object state, Object result) {
        line("< " + state + " = " + show(result));
    }

    public static void failed(Object state, Throwable e) {
        line("! " + state + " " + name(e) + ": " + e.getMessage());
    }

    public static void typed(boolean a, byte b, short c, char d, int e, long f, float g, double h, String i, int[] j) {
        line("  typed " + show(a) + " " + b + " " + c + " " + d + " " + e + " " + f + " " + show(g) + " " + show(h) + " " + i + " " + list(j));
    }

    public static void widened(long fromInt, double fromFloat, Object fromBool, Object fromText, int fromChar) {
        line("  widened " + fromInt + " " + show(fromFloat) + " " + show(fromBool) + " " + show(fromText) + " " + fromChar);
    }

    public static void constants(byte a, long b, double c, float d, boolean e, String f, Object g, String h, int i) {
        line("  constants " + a + " " + b + " " + show(c) + " " + show(d) + " " + show(e) + " " + f + " " + show(g) + " " + h + " " + i);
    }

    public static void was(int n, String s, String result) {
        line("  was " + n + " " + s + " became " + result);
    }

    public static long start(String type, String signature) {
        line("  start " + type + " " + signature);
        return 7;
    }

    public static void took(long state, long duration) {
        line("  took " + state + (duration >= 0 ? " some" : " negative") + " time");
    }

    public static void words(int first, int last, int count) {
        line("  words " + first + ".." + last + " of " + count);
    }

    public static int outer() {
        line("  outer begins");
        return 1;
    }

    public static void outerEnd(int state) {
        line("  outer ends " + state);
    }

    public static String bad(String method) {
        throw new IllegalStateException("hook of " + method);
    }

    public static void after(String state, int result) {
        line("  after bad: " + state + " " + result);
    }

    /** Calls woven code, which has this very hook. */
    public static void again(Object self) {
        depth++;
        line("  again " + depth + " " + self);
        depth--;
    }

    static void line(String text) {
        System.out.println(text);
    }

    static String name(Object o) {
        return o == null ? "null" : o.getClass().getSimpleName();
    }

    static String show(Object o) {
        if (o instanceof Object[]) {
            return list((Object[]) o);
        }
        if (o instanceof int[]) {
            return list((int[]) o);
        }
        if (o instanceof Float || o instanceof Double) {
            double d = ((Number) o).doubleValue();
            return d == Math.rint(d) ? Long.toString((long) d) : Double.toString(d);
        }
        return String.valueOf(o);
    }

    static String list(Object[] all) {
        StringBuilder text = new StringBuilder("[");
        for (int i = 0; i < all.length; i++) {
            text.append(i == 0 ? "" : ", ").append(show(all[i]));
        }
        return text.append("]").toString();
    }

    static String list(int[] all) {
        StringBuilder text = new StringBuilder("[");
        for (int i = 0; i < all.length; i++) {
            text.append(i == 0 ? "" : ", ").append(all[i]);
        }
        return text.append("]").toString();
    }
}
