package acme;

/** Hooks at every point of whole libraries. */
public final class Every {
    private static long points;

    private Every() {}

    public static void point(Object a, Object b) {
        points++;
    }

    public static void point(Object a, Object b, String c, int line) {
        points++;
    }

    public static void thrown(RuntimeException exception) {
        points++;
    }
}
