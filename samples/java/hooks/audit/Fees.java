package audit;

import java.util.concurrent.atomic.AtomicLong;

/** What the shop pays for its payments: hooks that know nothing of the shop's classes. */
public final class Fees {
    private static final AtomicLong PAID = new AtomicLong();

    private Fees() {}

    /** What it returns is the state of the call, which the other hooks get. */
    public static String begin(Object payment, int cents) {
        return cents + " cents by " + payment;
    }

    public static void end(String call, int fee, String method) {
        System.err.println("audit: " + method + ": " + call + ": " + fee + ", " + PAID.addAndGet(fee) + " in all");
    }

    public static void refused(String call, Throwable exception) {
        System.err.println("audit: " + call + ": " + exception.getMessage());
    }
}
