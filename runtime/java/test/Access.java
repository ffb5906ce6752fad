package weave.runtime;

import java.io.File;

/** What the tests reach inside the library. */
public final class Access {
    /** Does what executors do that clear their threads' locals. */
    public static void forgetLane() {
        Switch.LANES.remove();
    }

    /** What an address of a database says. */
    public static String database(String url) {
        return Jdbc.told(url);
    }

    /** The number of the last thread. */
    public static void threads(int number) {
        Trace.store.threads.set(number);
    }

    /** The limit on a file system that keeps files in memory, and who set it; "/" is a folder. */
    public static String containerLimit(long usual, File root) {
        Limits limits = new Limits(usual, null, root);
        limits.container(root);
        return limits.limit + " by " + limits.by;
    }
}
