package weave.runtime;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * A lock for short sections on slow paths. It neither parks, which would take a permit that the program has given to
 * its own thread, nor is a monitor, on which a virtual thread would hold its carrier or be taken off it. And it gives
 * up: a hook must never hang the program.
 */
final class Gate {
    private static final long PATIENCE = 5_000_000_000L;

    private final AtomicInteger held = new AtomicInteger();

    /** Whether the gate is held now by the caller, who must leave. */
    boolean enter(boolean virtual) {
        if (held.compareAndSet(0, 1)) {
            return true;
        }
        long start = System.nanoTime();
        do {
            if (!virtual) {
                Thread.yield(); // a virtual thread may hold a slot: it must stay on its carrier
            }
            if (held.get() == 0 && held.compareAndSet(0, 1)) {
                return true;
            }
        } while (System.nanoTime() - start < PATIENCE);
        return false;
    }

    void leave() {
        held.set(0);
    }
}
