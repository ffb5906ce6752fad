package weave.runtime;

import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;

/**
 * A lock for short sections on slow paths. It neither parks, which would take a permit that the program has given to
 * its own thread, nor is a monitor, on which a virtual thread would hold its carrier or be taken off it. And it gives
 * up: a hook must never hang the program.
 *
 * <p>Who enters does so inside the {@code try} whose {@code finally} leaves if {@link #owner} is this thread: an error
 * from outside ({@code Thread.stop}) can strike between any two instructions.
 */
final class Gate {
    private static final long PATIENCE = 5_000_000_000L;

    private static final AtomicReferenceFieldUpdater<Gate, Thread> OWNER =
        AtomicReferenceFieldUpdater.newUpdater(Gate.class, Thread.class, "owner");

    /** Who has entered leaves by setting this to null: not by a call, for which the stack may have no room left. */
    volatile Thread owner;

    /** Enters if nobody is inside. */
    boolean tryEnter(Thread self) {
        return owner == null && OWNER.compareAndSet(this, null, self);
    }

    /** Whether the gate is held now by the caller, who must leave. */
    boolean enter(Thread self, boolean virtual) {
        if (tryEnter(self)) {
            return true;
        }
        long start = System.nanoTime();
        do {
            if (!virtual) {
                Thread.yield(); // a virtual thread may hold a slot: it must stay on its carrier
            }
            Thread other = owner;
            if (other == null ? tryEnter(self) : !other.isAlive() && OWNER.compareAndSet(this, other, self)) {
                return true;
            }
        } while (System.nanoTime() - start < PATIENCE);
        return false;
    }
}
