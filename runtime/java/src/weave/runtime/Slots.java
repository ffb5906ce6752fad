package weave.runtime;

/** The places at which virtual threads write: a few for all of them, each held for one record. */
final class Slots {
    private static final long PATIENCE = 1_000_000_000L;

    static final class Slot extends Cursor {
        final int index;
        final Gate gate = new Gate();
        /** What virtual threads have counted here. */
        final Tally tally = new Tally();
        /** And what they have summed up. */
        final Sums sums = new Sums();

        Slot(int index) {
            this.index = index;
        }
    }

    final Slot[] slots;

    Slots() {
        slots = new Slot[Math.max(2, 2 * Runtime.getRuntime().availableProcessors())];
        for (int i = 0; i < slots.length; i++) {
            slots[i] = new Slot(i);
        }
    }

    /** A slot that nobody holds, if possible the one asked for; null if there is none for too long a time. */
    Slot acquire(int preferred, Thread self) {
        long start = 0;
        for (int i = preferred & Integer.MAX_VALUE, tries = 1;; i++, tries++) {
            Slot slot = slots[i % slots.length];
            if (slot.gate.tryEnter(self)) {
                return slot;
            }
            if (i == Integer.MAX_VALUE) {
                i = -1;
            }
            if (tries % 1_024 == 0) {
                long now = System.nanoTime();
                if (start == 0) {
                    start = now;
                } else if (now - start > PATIENCE) {
                    return null;
                }
            }
        }
    }
}
