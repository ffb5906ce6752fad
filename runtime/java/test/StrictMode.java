package android.os;

/** Android's, as far as it is asked: counts, so that a test sees whether what was allowed is forbidden again. */
public final class StrictMode {
    public static final class ThreadPolicy {}

    /** Of the running thread, as each has a policy of its own. */
    private static final ThreadLocal<Integer> OPEN = ThreadLocal.withInitial(() -> 0);

    private StrictMode() {}

    public static int open() {
        return OPEN.get();
    }

    public static ThreadPolicy allowThreadDiskWrites() {
        OPEN.set(OPEN.get() + 1);
        return new ThreadPolicy();
    }

    public static void setThreadPolicy(ThreadPolicy policy) {
        OPEN.set(OPEN.get() - 1);
    }
}
