package weave.runtime;

import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;

/**
 * A lock for short sections on slow paths. It neither parks, which would take a permit that the program has given to
 * its own thread, nor is a monitor, on which a virtual thread would hold its carrier or be taken off it. And it gives
 * up: a hook must never hang the program.
 */
final class Gate {
    private static final long PATIENCE = 5_000_000_000L;

    private static final AtomicIntegerFieldUpdater<Gate> HELD =
        AtomicIntegerFieldUpdater.newUpdater(Gate.class, "held");

    /** Who has entered leaves by setting this to 0: not by a call, for which the stack may have no room left. */
    volatile int held;

    /** Enters if nobody is inside. */
    boolean tryEnter() {
        return held == 0 && HELD.compareAndSet(this, 0, 1);
    }

    /** Whether the gate is held now by the caller, who must leave. */
    boolean enter(boolean virtual) {
        if (tryEnter()) {
            return true;
        }
        long start = System.nanoTime();
        do {
            if (!virtual) {
                Thread.yield(); // a virtual thread may hold a slot: it must stay on its carrier
            }
            if (tryEnter()) {
                return true;
            }
        } while (System.nanoTime() - start < PATIENCE);
        return false;
    }
}
