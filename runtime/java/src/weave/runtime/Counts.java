package weave.runtime;

import java.nio.LongBuffer;
import java.util.ArrayList;

/**
 * The counts of methods that are only counted, in the trace: chunks of their own, which stay, and in which each id has a place
 * where its count so far is kept up to date. Once a second what threads have counted is summed up. So is what they have in {@link Sums}.
 */
final class Counts {
    private static final long SECOND = 1_000_000_000L;
    private static final int PER_CHUNK = (Format.CHUNK_WORDS - Format.CHUNK_HEAD_WORDS) / 2;

    private final Store store;
    /** Held by who writes. */
    private final Gate gate = new Gate();
    private final ArrayList<LongBuffer> chunks = new ArrayList<LongBuffer>();
    /** Each id's place in them, from 1. */
    private final Tally places = new Tally();
    private int used;
    final Aggregates aggregates;
    /** What dead threads have counted. */
    private final Tally past = new Tally();
    private final Tally sum = new Tally();
    /** Something was counted. */
    private volatile boolean counting;
    /** Something was summed up. */
    private volatile boolean summing;
    private long next;
    /** Calls whose counts have no place. */
    private long homeless;

    Counts(Store store) {
        this.store = store;
        aggregates = new Aggregates(store);
    }

    /** A thread counts something for the first time, or sums it up. */
    void begin(Thread self, boolean virtual, boolean sums) {
        if (sums ? !summing : !counting) {
            next = System.nanoTime() + SECOND;
            summing |= sums;
            counting |= !sums;
            store.wake();
            if (!virtual) {
                try {
                    reserve(self);
                } catch (StackOverflowError later) {
                    // the supplier's thread does it
                } catch (OutOfMemoryError later) {
                    // the same
                }
            }
        }
    }

    /** Has a chunk before it is needed: there may be none then. */
    private void reserve(Thread self) {
        try {
            if (store.faulted || !gate.enter(self, false)) {
                return;
            }
            if (summing) {
                aggregates.reserve();
            }
            if (counting && chunks.size() * PER_CHUNK - used < PER_CHUNK / 2) {
                extend();
            }
        } catch (InternalError gone) {
            store.fault();
            Cursor.settle();
        } finally {
            if (gate.owner == self) {
                gate.owner = null;
            }
        }
    }

    private boolean extend() {
        LongBuffer chunk = store.kept(Format.COUNTS, chunks.size());
        return chunk != null && chunks.add(chunk);
    }

    /** How long until {@link #turn} has something to do, in nanoseconds. */
    long pause() {
        return counting || summing ? Math.max(1, next - System.nanoTime()) : Long.MAX_VALUE;
    }

    /** Writes, if it is time. For the supplier's thread. */
    void turn() {
        if ((counting || summing) && next - System.nanoTime() <= 0) {
            next = System.nanoTime() + SECOND;
            write();
            reserve(Thread.currentThread());
        }
    }

    /** Brings the trace up to date. */
    void write() {
        if (!counting && !summing || store.faulted) {
            return;
        }
        Thread self = Thread.currentThread();
        try {
            if (!gate.enter(self, false)) {
                return;
            }
            ArrayList<Tally> dead = new ArrayList<Tally>();
            ArrayList<Tally> live = new ArrayList<Tally>();
            ArrayList<Sums> deadSums = new ArrayList<Sums>();
            ArrayList<Sums> liveSums = new ArrayList<Sums>();
            if (!store.tables(live, dead, liveSums, deadSums)) {
                return;
            }
            aggregates.write(liveSums, deadSums);
            for (Tally one : dead) {
                one.addTo(past);
            }
            sum.clear();
            past.addTo(sum);
            for (Tally one : live) {
                one.addTo(sum);
            }
            homeless = 0;
            long[] cells = sum.cells();
            for (int i = 0; i < cells.length; i += 2) {
                if (cells[i + 1] != 0 && !put((int) cells[i], cells[i + 1])) {
                    homeless += cells[i + 1];
                }
            }
        } catch (InternalError gone) {
            store.fault();
            Cursor.settle();
        } finally {
            if (gate.owner == self) {
                gate.owner = null;
            }
        }
    }

    /** The process ends: counts as lost what has found no place. */
    void end(Header header) {
        write();
        header.addLost((int) Math.min(homeless + aggregates.homeless(), Integer.MAX_VALUE));
    }

    /** Counts a call at once, in the trace itself: where no thread of the library's own may be. False if that cannot be. */
    boolean direct(int id, Thread self, boolean virtual) {
        try {
            if (!gate.enter(self, virtual) || store.faulted) {
                return false;
            }
            long place = places.count(id);
            long before = place == 0 ? 0 : chunk(place).get(word(place) + 1);
            return put(id, before + 1);
        } catch (InternalError gone) {
            store.fault();
            Cursor.settle();
            return false;
        } finally {
            if (gate.owner == self) {
                gate.owner = null;
            }
        }
    }

    /** Begins a call at once, or ends it, in the trace itself: where no thread of the library's own may be. False if that cannot be. */
    boolean direct(int id, Frame ended, long took, boolean failed, boolean outermost, Thread self, boolean virtual) {
        try {
            if (!gate.enter(self, virtual) || store.faulted) {
                return false;
            }
            if (ended == null) {
                aggregates.direct(id).begin();
            } else {
                aggregates.direct(id).end(took, Math.max(0, took - ended.inner), failed, outermost);
            }
            return aggregates.put(id);
        } catch (InternalError gone) {
            store.fault();
            Cursor.settle();
            return false;
        } finally {
            if (gate.owner == self) {
                gate.owner = null;
            }
        }
    }

    /** Writes an id's count; false if there is no place for it. */
    private boolean put(int id, long count) {
        long place = places.count(id);
        if (place != 0) {
            LongBuffer chunk = chunk(place);
            if (chunk.get(word(place) + 1) != count) {
                Cursor.set(chunk, word(place) + 1, count);
            }
            return true;
        }
        if (used == chunks.size() * PER_CHUNK && !extend()) {
            return false;
        }
        place = ++used;
        places.add(id, place, true);
        LongBuffer chunk = chunk(place);
        Cursor.set(chunk, word(place) + 1, count);
        Fence.release(); // who sees the id sees its count
        Cursor.set(chunk, word(place), id & 0xFFFF_FFFFL);
        return true;
    }

    private LongBuffer chunk(long place) {
        return chunks.get((int) (place - 1) / PER_CHUNK);
    }

    /** Where an id is; its count is behind it. */
    private static int word(long place) {
        return Format.CHUNK_HEAD_WORDS + 2 * ((int) (place - 1) % PER_CHUNK);
    }
}
