package weave.runtime;

import java.lang.ref.WeakReference;

/**
 * What the library knows of one logical thread; only that thread touches it. A platform thread's lane is also its
 * cursor. A virtual thread has no chunk of its own: its {@link #end} is always 0, and each record goes to a
 * {@link Slots.Slot}.
 */
final class Lane extends Cursor {
    /** Of threads that are not recorded, and of a thread while its lane is made. Never written to. */
    static final Lane MUTE = new Lane();

    private static final long[] NOTHING = new long[0];
    /** A platform thread adds so many lost records at once to the header, which all threads share. */
    private static final int BATCH = 1_024;

    private final Store store;
    private final int number;
    /** Null for a virtual thread. */
    final WeakReference<Thread> thread;

    /** The thread is inside the library: hooks called now, by woven code that the library calls, do nothing. */
    boolean busy;
    /** Whether a THREAD escape was written; asked for virtual threads only. */
    private boolean named;
    /** The name in {@link #introduction}; for platform threads only, as that is. */
    private String name;
    private long[] introduction;
    /** Number of the next segment. */
    private int segment;
    /** Lost records for which no LOST escape was written yet. */
    int lost;
    /** Failed hooks not yet added to the header. */
    int failed;
    /** Lost records not yet added to the header. */
    int untold;
    /** The payload of the LOST escape that ends the data so far, or 0. */
    private int lostAt;
    /** The slot that a virtual thread wrote to last. */
    private int seat;
    /** The exception that was described last. */
    private WeakReference<Throwable> thrown;

    private Lane() {
        store = null;
        number = 0;
        thread = null;
        busy = true;
    }

    Lane(Store store, int number, Thread thread) {
        this.store = store;
        this.number = number;
        this.thread = thread == null ? null : new WeakReference<Thread>(thread);
        this.seat = number;
    }

    /** Enter, exit, or an error of an exception that is known. The whole hot path. */
    void record(int kind, int id, long now) {
        long gap = now - last;
        int word = at;
        if (word < end && gap >>> Format.GAP_BITS == 0) {
            words.put(word, (long) id << 32 | gap << 2 | kind);
            at = word + 1;
            last = now;
        } else {
            slow(kind, id, now, null);
        }
    }

    void error(Throwable t, int id, long now) {
        WeakReference<Throwable> known = thrown;
        if (known != null && known.get() == t) {
            record(Format.ERROR, id, now);
        } else {
            slow(Format.ERROR, id, now, t);
        }
    }

    /** Anything that needs more than one word: a new chunk, an escape, a shared slot. */
    private void slow(int kind, int id, long now, Throwable news) {
        if (busy) {
            return;
        }
        busy = true;
        end = 0; // so that a nested hook comes here, and no further
        try {
            // A stack that ends in the middle of an escape would leave half of it: let it end here.
            probe(64);
            long[] details = news == null ? NOTHING : Format.exception(news);
            boolean written;
            if (thread != null) {
                written = write(this, kind, id, now, details);
            } else {
                Slots.Slot slot = store.slots.acquire(seat);
                if (slot == null) {
                    written = lose();
                } else {
                    seat = slot.index;
                    try {
                        written = write(slot, kind, id, now, details);
                    } finally {
                        slot.release();
                    }
                }
            }
            if (written && news != null) {
                thrown = new WeakReference<Throwable>(news);
            }
            if (failed != 0) {
                tell();
            }
        } finally {
            end = limit;
            busy = false;
        }
    }

    private boolean write(Cursor c, int kind, int id, long now, long[] details) {
        int word;
        long gap = 0;
        int need = 1 + details.length + 2 + 2; // the record, and at most a TIME and a LOST
        if (c.owner == number && c.at + need <= c.limit) {
            word = c.at;
            gap = now - c.last;
            if (gap >>> Format.GAP_BITS != 0) {
                gap = 0;
                word = c.put(word, Format.TIME, store.time(now));
            }
        } else {
            boolean virtual = thread == null;
            long[] intro = virtual && named ? NOTHING : introduction(virtual);
            need += 3 + intro.length;
            if (c.words != null && c.at + need <= c.limit) {
                word = c.put(c.at, new long[] {
                    Format.escape(Format.SEGMENT, 2, number), segment, store.time(now)
                });
                c.owner = number;
            } else if (store.next(c, number, segment, now, virtual)) {
                word = c.at;
            } else {
                return lose();
            }
            segment++;
            word = c.put(word, intro);
            named = true;
        }
        if (lost != 0) {
            word = c.put(word, Format.LOST, lost);
            lost = 0;
        }
        lostAt = 0;
        word = c.put(word, details);
        c.words.put(word, (long) id << 32 | gap << 2 | kind);
        c.at = word + 1;
        c.last = now;
        return true;
    }

    /** The THREAD escape: in each chunk of a platform thread, since the ring may have overwritten the one before. */
    private long[] introduction(boolean virtual) {
        Thread self = Thread.currentThread();
        String now = self.getName();
        if (virtual) {
            return Format.thread(self, now, number, true);
        }
        if (now != name) {
            name = now;
            introduction = Format.thread(self, now, number, false);
        }
        return introduction;
    }

    /**
     * Counts a record that could not be written. A thread that has a chunk says so in it, at its end if it is full; a
     * virtual thread, or one that has none, before its next record.
     */
    private boolean lose() {
        untold++;
        boolean first;
        if (words == null || owner != number) {
            first = lost++ == 0;
        } else {
            first = lostAt == 0 || at != lostAt + 1;
            if (first) {
                put(at, Format.LOST, 1L + lost);
                lostAt = at + 1;
                at += 2;
            } else {
                words.put(lostAt, words.get(lostAt) + 1 + lost);
            }
            lost = 0;
        }
        if (first || thread == null || untold >= BATCH) {
            tell();
        }
        return false;
    }

    /** Brings the header's counters up to date. */
    private void tell() {
        int n = untold;
        untold = 0;
        store.header.addLost(n);
        n = failed;
        failed = 0;
        store.header.addFailures(n);
    }

    /** Fails with a StackOverflowError if the stack has no room for so many small frames. */
    static int probe(int frames) {
        return frames == 0 ? 0 : 1 + probe(frames - 1);
    }
}
