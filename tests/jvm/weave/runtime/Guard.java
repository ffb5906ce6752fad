package weave.runtime;

/** Stands in for the part of the hook library that adapters call. */
public final class Guard {
    private static boolean busy;
    public static int failures;

    public static boolean begin() {
        return !busy && (busy = true);
    }

    public static void end() {
        busy = false;
    }

    public static void failed(Throwable t, String hook) {
        failures++;
        System.err.println("hook " + hook + " failed: " + t);
    }
}
