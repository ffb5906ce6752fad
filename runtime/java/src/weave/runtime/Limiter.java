package weave.runtime;

import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLongFieldUpdater;
import java.util.concurrent.atomic.AtomicReference;

/** Which outermost calls are recorded where that is so many a second of the process ({@code sample = "10/s"}). */
final class Limiter {
    /** The most calls that one stands for. */
    private static final int MOST = (1 << 24) - 1;
    private static final long SECOND = 1_000_000_000L;

    /** One for each number that some rule says. */
    private static final AtomicReference<Limiter[]> ALL = new AtomicReference<Limiter[]>(new Limiter[0]);
    private static final AtomicLongFieldUpdater<Limiter> NEXT = AtomicLongFieldUpdater.newUpdater(Limiter.class, "next");
    private static final AtomicLongFieldUpdater<Limiter> PASSED = AtomicLongFieldUpdater.newUpdater(Limiter.class, "passed");

    private final int number;
    private final long gap;
    /** From when on a call is taken. */
    private volatile long next;
    /** How many were not, since the last one that was. */
    private volatile long passed;

    Limiter(int number, long now) {
        this.number = number;
        gap = (SECOND + number - 1) / number;
        next = now;
    }

    static Limiter of(int number) {
        while (true) {
            Limiter[] all = ALL.get();
            for (Limiter one : all) {
                if (one.number == number) {
                    return one;
                }
            }
            Limiter[] more = Arrays.copyOf(all, all.length + 1);
            more[all.length] = new Limiter(number, System.nanoTime());
            ALL.compareAndSet(all, more);
        }
    }

    /** For how many calls the one at hand stands; 0 if it is not taken. */
    int take(long now) {
        while (true) {
            long free = next;
            if (now - free < 0) {
                PASSED.incrementAndGet(this);
                return 0;
            }
            // After a pause there are as many at once as in a second, and no more.
            long from = now - free > SECOND ? now - SECOND : free;
            if (NEXT.compareAndSet(this, free, from + gap)) {
                long before = PASSED.getAndSet(this, 0);
                if (before >= MOST) {
                    PASSED.addAndGet(this, before - (MOST - 1)); // the next one tells
                    before = MOST - 1;
                }
                return 1 + (int) before;
            }
        }
    }
}
