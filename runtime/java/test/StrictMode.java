package android.os;

/** Android's, as far as it is asked: counts, so that a test sees whether what was allowed is forbidden again. */
public final class StrictMode {
    public static final class ThreadPolicy {}

    public static int open;

    private StrictMode() {}

    public static ThreadPolicy allowThreadDiskWrites() {
        open++;
        return new ThreadPolicy();
    }

    public static void setThreadPolicy(ThreadPolicy policy) {
        open--;
    }
}
