package weave.runtime;

/** Stands in for the part of the hook library that adapters call. */
public final class Guard {
    private static final boolean[] BUSY = new boolean[1];
    public static int failures;

    public static boolean[] begin() {
        if (BUSY[0]) {
            return null;
        }
        BUSY[0] = true;
        return BUSY;
    }

    public static void failed(Throwable t, String hook) {
        failures++;
        System.err.println("hook " + hook + " failed: " + t);
    }
}
