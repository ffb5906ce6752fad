package weave.runtime;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.LongBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** Who gets which chunk: new ones while the file may grow, then what the policy allows. And who has which lane. */
final class Store {
    /** A chunk with less room is not worth going on in. */
    private static final int WORTHWHILE = 512;
    /** After a look for room in vain none is looked for during this time. */
    private static final long DRY_SPELL = 100_000_000L;
    private static final long NAP = 2;

    final Header header;
    final Slots slots = new Slots();
    private final Gate gate = new Gate();
    private final TraceFile file;
    private final Settings settings;
    private final long origin;
    private final AtomicLong serials = new AtomicLong();
    private final AtomicInteger threads = new AtomicInteger();

    /** Never used, or given back by a consumer. */
    private final ArrayDeque<LongBuffer> free = new ArrayDeque<LongBuffer>();
    /** Full, the oldest first. */
    private final ArrayDeque<LongBuffer> retired = new ArrayDeque<LongBuffer>();
    /** Of threads that have died; the position is where to go on. */
    private final ArrayDeque<LongBuffer> resting = new ArrayDeque<LongBuffer>();
    /** The lanes of the platform threads that live, and of some that are dead. */
    private final ArrayList<Lane> lanes = new ArrayList<Lane>();
    /** The number of lanes at which the dead are looked for: as many looks as threads, not their square. */
    private int sweepAt = 4;

    /** No room was found the last time it was looked for. */
    private volatile boolean dry;
    private volatile long drySince;

    Store(TraceFile file, Settings settings, long pid, String command) throws java.io.IOException {
        this.file = file;
        this.settings = settings;
        long wallClock = System.currentTimeMillis() * 1_000_000L;
        origin = System.nanoTime();
        ByteBuffer first = file.grow();
        if (first == null || first.capacity() < 2 * Format.CHUNK) {
            throw new java.io.IOException(file.trouble);
        }
        header = new Header(first, wallClock, pid, settings.policy, settings.limit, command);
        add(first, Format.CHUNK);
    }

    /** Nanoseconds since the origin. */
    long time(long now) {
        return Math.max(0, now - origin);
    }

    /** Why the file could not grow to its limit, or null. */
    String trouble() {
        return file.trouble;
    }

    /** The lane of a thread that has none, or seems to: some executors clear their threads' locals. */
    Lane lane(Thread thread) {
        if (Host.isVirtual(thread)) {
            return new Lane(this, threads.incrementAndGet(), null);
        }
        if (!gate.enter(false)) {
            return null;
        }
        try {
            for (int i = lanes.size() - 1; i >= 0; i--) {
                if (lanes.get(i).thread.get() == thread) {
                    return lanes.get(i);
                }
            }
            if (lanes.size() >= sweepAt) {
                sweep();
                sweepAt = 4 + 2 * lanes.size();
            }
            Lane lane = new Lane(this, threads.incrementAndGet(), thread);
            LongBuffer chunk = resting.poll();
            if (chunk != null) {
                lane.move(chunk, chunk.position(), 0, 0);
            }
            lanes.add(lane);
            return lane;
        } finally {
            gate.leave();
        }
    }

    /** Gives a cursor a chunk that begins with a segment of this thread; its own is full. */
    boolean next(Cursor cursor, int thread, int segment, long now, boolean virtual) {
        LongBuffer chunk = take(cursor, now, virtual);
        if (chunk == null) {
            return false;
        }
        begin(chunk, Format.RECORDS, (long) segment << 32 | thread, time(now));
        cursor.move(chunk, Format.CHUNK_HEAD_WORDS, thread, now);
        return true;
    }

    /** Copies a symbols map; false if it does not find room. */
    boolean symbols(int map, byte[] bytes) {
        int most = Format.CHUNK - 8 * Format.CHUNK_HEAD_WORDS;
        int parts = (bytes.length + most - 1) / most;
        if ((long) parts * Format.CHUNK > settings.limit / 2) {
            return false;
        }
        for (int part = 0; part < parts; part++) {
            LongBuffer chunk = take(null, System.nanoTime(), false);
            if (chunk == null) {
                return false;
            }
            int used = Math.min(most, bytes.length - part * most);
            long[] words = new long[(used + 7) / 8];
            Format.pack(bytes, part * most, used, words, 0);
            for (int i = 0; i < words.length; i++) {
                chunk.put(Format.CHUNK_HEAD_WORDS + i, words[i]);
            }
            begin(chunk, Format.SYMBOLS, (long) part << 32 | map, (long) bytes.length << 32 | used);
        }
        return true;
    }

    /** The process ends; daemon threads may go on. */
    void end() {
        if (gate.enter(false)) {
            try {
                for (Lane lane : lanes) {
                    header.addLost(lane.untold);
                    header.addFailures(lane.failed);
                }
            } finally {
                gate.leave();
            }
        }
        header.addFailures(Hooks.adrift);
        header.setEnd(time(System.nanoTime()));
    }

    private void begin(LongBuffer chunk, int kind, long who, long clock) {
        chunk.put(1, serials.incrementAndGet());
        chunk.put(2, who);
        chunk.put(3, clock);
        serials.get(); // a fence: the magic goes last
        chunk.put(0, (long) kind << 32 | Format.CHUNK_MAGIC);
    }

    /** A chunk, all zero, in exchange for the cursor's if it has one; or null. */
    private LongBuffer take(Cursor cursor, long now, boolean virtual) {
        if (dry && now - drySince < DRY_SPELL) {
            return null;
        }
        LongBuffer chunk = look(cursor, virtual);
        if (chunk == null && settings.policy == Settings.BLOCK && !virtual && !dry) {
            chunk = await(cursor);
        }
        if (chunk == null) {
            drySince = System.nanoTime();
            dry = true;
            if (!virtual) {
                Trace.growthStopped(this); // prints, for which a virtual thread may leave its carrier
            }
            return null;
        }
        dry = false;
        if (chunk.get(0) != 0) {
            for (int i = 0; i < Format.CHUNK_WORDS; i++) {
                chunk.put(i, 0);
            }
        }
        return chunk;
    }

    /**
     * Looks again and again for a chunk that a consumer has given back. Once that was in vain nobody waits any more
     * until one is found.
     */
    private LongBuffer await(Cursor cursor) {
        boolean interrupted = false;
        LongBuffer chunk = null;
        long start = System.nanoTime();
        while (chunk == null && !dry && System.nanoTime() - start < settings.patience * 1_000_000L) {
            try {
                Thread.sleep(NAP);
            } catch (InterruptedException e) {
                interrupted = true;
            }
            chunk = look(cursor, false);
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return chunk;
    }

    private LongBuffer look(Cursor cursor, boolean virtual) {
        Lane.probe(400);
        if (!gate.enter(virtual)) {
            return null;
        }
        try {
            LongBuffer old = cursor == null ? null : cursor.words;
            LongBuffer chunk = free.poll();
            if (chunk == null) {
                ByteBuffer more = file.grow();
                if (more != null) {
                    add(more, 0);
                    chunk = free.poll();
                } else if (settings.policy == Settings.RING) {
                    chunk = oldest(old);
                } else {
                    reclaim();
                    chunk = free.poll();
                }
            }
            if (chunk != null && old != null && chunk != old) {
                retire(old, cursor.at);
            }
            return chunk;
        } finally {
            gate.leave();
        }
    }

    private void add(ByteBuffer region, int from) {
        for (int at = from; at < region.capacity(); at += Format.CHUNK) {
            region.limit(at + Format.CHUNK);
            region.position(at);
            free.add(region.slice().order(ByteOrder.LITTLE_ENDIAN).asLongBuffer());
        }
    }

    private void retire(LongBuffer chunk, int at) {
        chunk.put(at, Format.escape(Format.END, 0, 0));
        retired.add(chunk);
    }

    /** The ring's next chunk: the oldest that no thread is at; if there is none, the asker's own. */
    private LongBuffer oldest(LongBuffer own) {
        if (retired.isEmpty() && resting.isEmpty()) {
            sweep();
        }
        LongBuffer chunk;
        if (retired.isEmpty() && resting.isEmpty()) {
            chunk = own;
        } else if (resting.isEmpty() || !retired.isEmpty() && retired.peek().get(1) < resting.peek().get(1)) {
            chunk = retired.poll();
        } else {
            chunk = resting.poll();
        }
        if (chunk != null) {
            header.addLost(records(chunk));
            header.addOverwritten(1);
        }
        return chunk;
    }

    private static int records(LongBuffer chunk) {
        int count = 0;
        for (int i = Format.CHUNK_HEAD_WORDS; i < Format.CHUNK_WORDS; i++) {
            long word = chunk.get(i);
            if (word == 0) {
                break;
            }
            if ((word & 3) == 0) {
                i += (int) word >>> 8;
            } else {
                count++;
            }
        }
        return count;
    }

    /** Takes back what a consumer has given back. */
    private void reclaim() {
        for (Iterator<LongBuffer> i = retired.iterator(); i.hasNext();) {
            LongBuffer chunk = i.next();
            if ((int) chunk.get(0) == Format.FREE_MAGIC) {
                i.remove();
                free.add(chunk);
            }
        }
    }

    /** Forgets the lanes of dead threads and keeps their chunks for others. */
    private void sweep() {
        int kept = 0;
        for (int i = 0; i < lanes.size(); i++) {
            Lane lane = lanes.get(i);
            Thread thread = lane.thread.get();
            if (thread != null && thread.isAlive()) {
                lanes.set(kept++, lane);
                continue;
            }
            header.addLost(lane.untold);
            header.addFailures(lane.failed);
            if (lane.words == null) {
                continue;
            }
            if (Format.CHUNK_WORDS - lane.at >= WORTHWHILE) {
                lane.words.position(lane.at);
                resting.add(lane.words);
            } else {
                retire(lane.words, lane.at);
            }
        }
        lanes.subList(kept, lanes.size()).clear();
    }
}
