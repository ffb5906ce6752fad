package weave.runtime;

import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicLong;

/** Chunk 0 of the file. Its counters are written by any thread, on slow paths. */
final class Header {
    private static final int FLAGS = 36;
    private static final int LOST = 48;
    private static final int OVERWRITTEN = 56;
    private static final int FAILURES = 64;
    private static final int END = 72;
    private static final int TEXT_LENGTH = 80;
    private static final int TEXT = 84;
    private static final int TEXT_LIMIT = 4_000;
    private static final int NOTES = 4_096;
    private static final int LIMIT_SET_BY = 8_192;
    private static final int LOST_DEEP = 8_200;
    private static final int LOST_FAILED = 8_208;
    private static final int HEARTBEAT = 8_224;
    private static final int TAKEN_OUT = 8_232;
    private static final int LOST_OVERWRITTEN = 8_256;
    private static final int CONTROLLED = 8_264;
    private static final int REQUEST = 8_268;
    private static final int NONCE = 8_272;

    private static final int TRIES = 1_000;

    static final int ENDED = 1;
    static final int SYMBOLS = 2;

    private final ByteBuffer bytes;
    private final AtomicLong lost = new AtomicLong();
    private final AtomicLong lostDeep = new AtomicLong();
    private final AtomicLong lostFailed = new AtomicLong();
    private final AtomicLong lostOverwritten = new AtomicLong();
    private final AtomicLong overwritten = new AtomicLong();
    private final AtomicLong failures = new AtomicLong();
    private final AtomicLong flags = new AtomicLong();

    Header(ByteBuffer chunk, long wallClock, long pid, Settings settings, String command, byte[] nonce) {
        bytes = chunk;
        bytes.putInt(8, Format.VERSION);
        bytes.putInt(12, Format.CHUNK);
        bytes.putLong(16, wallClock);
        bytes.putLong(24, pid);
        bytes.putInt(32, settings.policy);
        bytes.putLong(40, settings.limit);
        byte[] text = Format.utf8(command, TEXT_LIMIT);
        bytes.putInt(TEXT_LENGTH, text.length);
        for (int i = 0; i < text.length; i++) {
            bytes.put(TEXT + i, text[i]);
        }
        bytes.putInt(LIMIT_SET_BY, settings.limitSetBy);
        bytes.putInt(CONTROLLED, Switch.COLLECTIBLE ? 0 : 1);
        for (int i = 0; i < nonce.length; i++) {
            bytes.put(NONCE + i, nonce[i]);
        }
        Fence.release(); // the magic goes last
        bytes.putLong(0, Format.FILE_MAGIC);
    }

    /** What there is to know of this run, each in a line; null is nothing. */
    void setNotes(String... some) {
        StringBuilder lines = new StringBuilder();
        for (String one : some) {
            if (one != null) {
                lines.append(lines.length() == 0 ? "" : "\n").append(one);
            }
        }
        byte[] text = Format.utf8(lines.toString(), TEXT_LIMIT);
        for (int i = 0; i < text.length; i++) {
            bytes.put(NOTES + 4 + i, text[i]);
        }
        Fence.release(); // the length goes last
        bytes.putInt(NOTES, text.length);
    }

    void addLost(long n) {
        add(lost, n, LOST);
    }

    /** Of those that {@link #addLost} takes: lost because the stack was short. */
    void addLostDeep(long n) {
        add(lostDeep, n, LOST_DEEP);
    }

    /** Of those that {@link #addLost} takes: lost because a hook failed otherwise. */
    void addLostFailed(long n) {
        add(lostFailed, n, LOST_FAILED);
    }

    /** The ring has overwritten a chunk of so many records. */
    void addOverwritten(long records) {
        add(lost, records, LOST);
        add(lostOverwritten, records, LOST_OVERWRITTEN);
        add(overwritten, 1, OVERWRITTEN);
    }

    void addFailures(long n) {
        add(failures, n, FAILURES);
    }

    /** Moves while a consumer lives. */
    long heartbeat() {
        return bytes.getLong(HEARTBEAT);
    }

    /** Chunks that consumers took out. */
    long takenOut() {
        return bytes.getLong(TAKEN_OUT);
    }

    /** This request of {@code weave control} was taken. */
    void setRequest(int number) {
        Fence.release(); // who sees the number sees what the request switched
        bytes.putInt(REQUEST, number);
    }

    void setFlag(int flag, boolean on) {
        long old;
        do {
            old = flags.get();
        } while (!flags.compareAndSet(old, on ? old | flag : old & ~flag));
        int tries = 0;
        do {
            old = flags.get();
            bytes.putInt(FLAGS, (int) old);
        } while (flags.addAndGet(0) != old || again(Cursor.fence == 0 && bytes.getInt(FLAGS) == (int) old, tries++));
    }

    void setEnd(long time) {
        bytes.putLong(END, time);
        Fence.release();
        setFlag(ENDED, true);
    }

    /**
     * Who writes last has seen the sum of all. Adding 0 is more than a look: whoever adds next comes behind what was written
     * before it, while a look may come before the write is seen.
     */
    private void add(AtomicLong counter, long n, int at) {
        if (n == 0) {
            return;
        }
        counter.addAndGet(n);
        long sum;
        int tries = 0;
        do {
            sum = counter.get();
            bytes.putLong(at, sum);
        } while (counter.addAndGet(0) != sum || again(Cursor.fence == 0 && bytes.getLong(at) == sum, tries++));
    }

    /** Another thread may have written an older number just now; but not again and again. */
    private static boolean again(boolean written, int tries) {
        if (!written && tries > TRIES) {
            throw Cursor.gone();
        }
        return !written;
    }
}
