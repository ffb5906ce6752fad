package weave.runtime;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.LongBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** Who gets which chunk: new ones while the file may grow, then what the policy allows. And who has which lane. */
final class Store {
    /** A chunk with less room is not worth going on in. */
    private static final int WORTHWHILE = 512;
    /** After a look for room in vain none is looked for during this time. */
    static final long DRY_SPELL = 100_000_000L;
    private static final long NAP = 2;
    private static final int MOST_AHEAD = 128;

    final Header header;
    final Slots slots = new Slots();
    final Names names = new Names(this);
    final Counts counts = new Counts(this);
    private final Gate gate = new Gate();
    private final TraceFile file;
    final Settings settings;
    private final long origin;
    /** The same, as nanoseconds since 1970. */
    final long wallClock;
    final Control control;
    private final AtomicLong serials = new AtomicLong();
    final AtomicInteger threads = new AtomicInteger();
    private final Supplier supplier = Switch.COLLECTIBLE ? null : new Supplier(this);
    /** There was no memory to describe an exception with, so that none is described until then. */
    volatile long speechlessUntil = System.nanoTime();
    /** A page of the file has failed: the trace is over. */
    volatile boolean faulted;

    /** Symbols maps copied so far, and what they were: length and CRC-32. By {@link Symbols} alone. */
    int maps;
    private int mapChunks;
    final java.util.Set<Long> copied = new java.util.HashSet<Long>();

    /** Never used, or given back by a consumer. */
    private final ArrayDeque<LongBuffer> free = new ArrayDeque<LongBuffer>();
    /** So many chunks are to be ready. Grows with the need. */
    private volatile int ahead = 8;
    /** All chunks that there are. */
    private volatile int chunks;
    /** Full, the oldest first. */
    private final ArrayDeque<LongBuffer> retired = new ArrayDeque<LongBuffer>();
    /** Of threads that have died; the position is where to go on. */
    private final ArrayDeque<LongBuffer> resting = new ArrayDeque<LongBuffer>();
    /** The lanes of the platform threads that live, and of some that are dead. */
    private final ArrayList<Lane> lanes = new ArrayList<Lane>();
    /** What dead threads have counted and summed up, and {@link Counts} has not asked for yet. */
    private final ArrayList<Tally> dead = new ArrayList<Tally>();
    private final ArrayList<Sums> deadSums = new ArrayList<Sums>();
    /** The number of lanes at which the dead are looked for: as many looks as threads, not their square. */
    private int sweepAt = 4;

    /** No room was found the last time it was looked for. */
    private volatile boolean dry;
    private volatile long drySince;

    /** Only who can read the trace knows it. */
    final byte[] nonce;
    final long seed = newSeed();
    /** What draws of sampled calls begin with: processes of a fleet take different ones. */
    final long draws;

    Store(TraceFile file, Settings settings, long pid, String command) throws java.io.IOException {
        this.file = file;
        this.settings = settings;
        wallClock = System.currentTimeMillis() * 1_000_000L;
        nonce = RequestFile.nonce();
        draws = settings.seed >= 0 ? settings.seed : newSeed();
        control = new Control(this);
        origin = System.nanoTime();
        ByteBuffer first = file.grow(TraceFile.PIECE);
        if (first == null || first.capacity() < 2 * Format.CHUNK) {
            throw new java.io.IOException(file.trouble);
        }
        header = new Header(first, wallClock, pid, settings, command, nonce);
        add(first, Format.CHUNK);
    }

    /** Starts what lets the file grow beside the program. */
    void start() {
        if (supplier != null) {
            supplier.start();
        }
    }

    java.io.File path() {
        return file.path;
    }

    /** A number that nobody knows: not the nonce, which ids would tell. */
    private static long newSeed() {
        long mixed = 0;
        for (byte b : RequestFile.nonce()) {
            mixed = mixed * 0x100_0000_01B3L ^ b;
        }
        return mixed;
    }

    /** Nanoseconds since the origin. */
    long time(long now) {
        return Math.max(0, now - origin);
    }

    /** Why the file could not grow to its limit, or null. */
    String trouble() {
        return faulted ? "its memory is gone: the file was cut off, or its disk is full" : file.trouble;
    }

    /** Nothing of the file can be relied on any more: it was cut off, or is on a full disk that needs room for each change. */
    void fault() {
        faulted = true;
        wake();
    }

    /** Has the supplier's thread look what there is to do. */
    void wake() {
        if (supplier != null) {
            supplier.wake();
        }
    }

    /** Whether the chunks that are ready are few. */
    boolean wants() {
        return !faulted && free.size() < ahead && (file.mayGrow() || recycles());
    }

    /** Under ring chunks are made free ahead of need where there are so many that the few do not matter. */
    private boolean recycles() {
        return settings.policy == Settings.RING && free.size() < Math.min(ahead, chunks / 64);
    }

    /** Gets more chunks ready; false if there is nothing to be done now. For the supplier's thread. */
    boolean supply() {
        if (faulted) {
            Trace.growthStopped(this);
            return false;
        }
        if (!wants()) {
            return false;
        }
        Thread self = Thread.currentThread();
        return file.mayGrow() ? growAhead(self) : recycle(self);
    }

    /** Lets the file grow by a piece; false if it was in vain. For the supplier's thread. */
    private boolean growAhead(Thread self) {
        ByteBuffer piece = file.growAhead(TraceFile.PIECE, self);
        return piece != null && join(piece, self, false);
    }

    /** Lets the file grow by a chunk, unless somebody else has done so; false if it was in vain. */
    private boolean grow(Thread self, boolean virtual) {
        try {
            if (!file.gate.enter(self, virtual)) {
                return false;
            }
            if (!free.isEmpty()) {
                return true;
            }
            ByteBuffer piece = file.grow(Format.CHUNK);
            return piece != null && join(piece, self, virtual);
        } finally {
            if (file.gate.owner == self) {
                file.gate.owner = null;
            }
        }
    }

    /** The file has grown by this piece. */
    private boolean join(ByteBuffer piece, Thread self, boolean virtual) {
        try {
            if (!gate.enter(self, virtual)) {
                return false;
            }
            add(piece, 0);
            return true;
        } finally {
            if (gate.owner == self) {
                gate.owner = null;
            }
        }
    }

    private boolean recycle(Thread self) {
        LongBuffer chunk;
        try {
            if (!gate.enter(self, false)) {
                return false;
            }
            chunk = oldest(null);
        } finally {
            if (gate.owner == self) {
                gate.owner = null;
            }
        }
        if (chunk == null) {
            return false;
        }
        overwrite(chunk);
        try {
            if (!gate.enter(self, false)) {
                return false;
            }
            free.add(chunk);
        } finally {
            if (gate.owner == self) {
                gate.owner = null;
            }
        }
        return true;
    }

    /** The lane of a thread that has none, or seems to: some executors clear their threads' locals. */
    Lane lane(Thread thread) {
        if (Host.isVirtual(thread)) {
            return new Lane(this, number(), null);
        }
        names.offer(thread.getContextClassLoader());
        try {
            if (!gate.enter(thread, false)) {
                return null;
            }
            for (int i = lanes.size() - 1; i >= 0; i--) {
                if (lanes.get(i).thread.get() == thread) {
                    return lanes.get(i);
                }
            }
            if (lanes.size() >= sweepAt) {
                sweep();
                sweepAt = 4 + 2 * lanes.size();
            }
            Lane lane = new Lane(this, number(), thread);
            LongBuffer chunk = resting.poll();
            if (chunk != null) {
                lane.move(chunk, chunk.position(), 0, 0);
            }
            lanes.add(lane);
            return lane;
        } finally {
            if (gate.owner == thread) {
                gate.owner = null;
            }
        }
    }

    /** Numbers are unsigned; 0 is nobody's. */
    private int number() {
        int number = threads.incrementAndGet();
        return number != 0 ? number : threads.incrementAndGet();
    }

    /** Gives a cursor a chunk that begins with a segment of this thread; its own is full. */
    boolean next(Cursor cursor, int thread, int segment, long now, boolean virtual) {
        LongBuffer chunk = take(cursor, now, virtual);
        if (chunk == null) {
            return false;
        }
        begin(chunk, Format.RECORDS, Format.pair(segment, thread), time(now));
        cursor.move(chunk, Format.CHUNK_HEAD_WORDS, thread, now);
        return true;
    }

    /** Copies a symbols map; false if it does not find room: all together may take half of the limit. */
    boolean symbols(int map, byte[] bytes) {
        int most = Format.CHUNK - 8 * Format.CHUNK_HEAD_WORDS;
        int parts = (bytes.length + most - 1) / most;
        if ((long) (mapChunks + parts) * Format.CHUNK > settings.limit / 2) {
            return false;
        }
        // Whatever may fail comes first: a map is copied whole or not at all.
        long[] words = new long[most / 8];
        LongBuffer[] chunks = new LongBuffer[parts];
        int taken = 0;
        try {
            while (taken < parts && (chunks[taken] = take(null, System.nanoTime(), false)) != null) {
                taken++;
            }
            if (taken == parts) {
                for (int part = 0; part < parts; part++) {
                    int used = Math.min(most, bytes.length - part * most);
                    Arrays.fill(words, 0);
                    Format.pack(bytes, part * most, used, words, 0);
                    for (int i = 0; i < words.length; i++) {
                        Cursor.set(chunks[part], Format.CHUNK_HEAD_WORDS + i, words[i]);
                    }
                    begin(chunks[part], Format.SYMBOLS, Format.pair(part, map), Format.pair(bytes.length, used));
                }
                mapChunks += parts;
                return true;
            }
        } catch (InternalError gone) {
            fault();
            Cursor.settle();
            return false;
        } finally {
            if (taken < parts) {
                giveBack(chunks, taken);
            }
        }
        return false;
    }

    /** A chunk that stays, the number-th of its kind; null if there is none now. */
    LongBuffer kept(int kind, int number) {
        LongBuffer chunk = look(null, false); // nobody waits for a consumer here
        if (chunk != null) {
            clean(chunk);
            begin(chunk, kind, number, time(System.nanoTime()));
        }
        return chunk;
    }

    /** The lanes of platform threads; none if another thread held the gate too long. */
    void lanes(ArrayList<Lane> all) {
        Thread self = Thread.currentThread();
        try {
            if (gate.enter(self, false)) {
                all.addAll(lanes);
            }
        } finally {
            if (gate.owner == self) {
                gate.owner = null;
            }
        }
    }

    /**
     * What threads have counted and summed up, those that live and those that have died since the last time; false if another thread held
     * the gate too long.
     */
    boolean tables(ArrayList<Tally> live, ArrayList<Tally> gone, ArrayList<Sums> liveSums, ArrayList<Sums> goneSums) {
        Thread self = Thread.currentThread();
        try {
            if (!gate.enter(self, false)) {
                return false;
            }
            collect(live, liveSums);
            gone.addAll(dead);
            goneSums.addAll(deadSums);
            dead.clear();
            deadSums.clear();
            return true;
        } finally {
            if (gate.owner == self) {
                gate.owner = null;
            }
        }
    }

    /** How many chunks have been begun. */
    long serial() {
        return serials.get();
    }

    /** The part of the limit that no chunk has used so far, or that was given back: 0 where the ring has begun anew. */
    double room() {
        return Math.max(0, 1 - (double) (serials.get() - header.takenOut()) * Format.CHUNK / settings.limit);
    }

    /** Full chunks of records that were begun after that one, so many at most, the last ones first; none if another thread held the gate too long. */
    void latest(ArrayList<LongBuffer> full, int most, long after) {
        Thread self = Thread.currentThread();
        try {
            if (!gate.enter(self, false)) {
                return;
            }
            for (Iterator<LongBuffer> i = retired.descendingIterator(); i.hasNext() && full.size() < most;) {
                LongBuffer chunk = i.next();
                if (chunk.get(0) == ((long) Format.RECORDS << 32 | Format.CHUNK_MAGIC) && chunk.get(1) > after) {
                    full.add(chunk);
                }
            }
        } finally {
            if (gate.owner == self) {
                gate.owner = null;
            }
        }
    }

    /** What threads that live have counted and summed up; nothing if another thread held the gate too long. */
    void live(ArrayList<Tally> tallies, ArrayList<Sums> sums) {
        Thread self = Thread.currentThread();
        try {
            if (gate.enter(self, false)) {
                collect(tallies, sums);
            }
        } finally {
            if (gate.owner == self) {
                gate.owner = null;
            }
        }
    }

    private void collect(ArrayList<Tally> tallies, ArrayList<Sums> sums) {
        for (Lane lane : lanes) {
            if (!lane.tally.isEmpty()) {
                tallies.add(lane.tally);
            }
            if (!lane.table.isEmpty()) {
                sums.add(lane.table);
            }
        }
        for (Slots.Slot slot : slots.slots) {
            if (!slot.tally.isEmpty()) {
                tallies.add(slot.tally);
            }
            if (!slot.sums.isEmpty()) {
                sums.add(slot.sums);
            }
        }
    }

    /** Chunks that were taken and not written to. */
    private void giveBack(LongBuffer[] chunks, int count) {
        Thread self = Thread.currentThread();
        try {
            if (gate.enter(self, false)) {
                for (int i = 0; i < count; i++) {
                    free.add(chunks[i]);
                }
            }
        } finally {
            if (gate.owner == self) {
                gate.owner = null;
            }
        }
    }

    /** The process ends; daemon threads may go on. */
    void end() {
        try {
            counts.end(header);
        } catch (OutOfMemoryError full) {
            // then those of a second ago stay
        }
        Thread self = Thread.currentThread();
        try {
            if (gate.enter(self, false)) {
                for (Lane lane : lanes) {
                    lane.tell(header);
                }
            }
        } finally {
            if (gate.owner == self) {
                gate.owner = null;
            }
        }
        int n = Hooks.adrift;
        int deep = Hooks.adriftShort;
        header.addLost(n + deep);
        header.addFailures(n + deep);
        header.addLostDeep(deep);
        header.addLostFailed(n);
        header.setEnd(time(System.nanoTime()));
        control.end();
    }

    private void begin(LongBuffer chunk, int kind, long who, long clock) {
        Cursor.set(chunk, 1, serials.incrementAndGet());
        Cursor.set(chunk, 2, who);
        Cursor.set(chunk, 3, clock);
        Fence.release(); // the magic goes last
        Cursor.set(chunk, 0, (long) kind << 32 | Format.CHUNK_MAGIC);
    }

    /** A chunk, all zero, in exchange for the cursor's if it has one; or null. */
    private LongBuffer take(Cursor cursor, long now, boolean virtual) {
        if (dry && now - drySince < DRY_SPELL) {
            return null;
        }
        LongBuffer chunk;
        try {
            chunk = look(cursor, virtual);
        } catch (OutOfMemoryError full) {
            dryUntilLater(); // each look would collect garbage
            throw full;
        }
        if (chunk == null && settings.policy == Settings.BLOCK && !virtual && !dry) {
            chunk = await(cursor);
        }
        if (chunk == null) {
            dryUntilLater();
            if (!virtual) {
                Trace.growthStopped(this); // prints, for which a virtual thread may leave its carrier
            }
            return null;
        }
        dry = false;
        clean(chunk);
        return chunk;
    }

    /** Makes a chunk that was taken all zero. */
    private void clean(LongBuffer chunk) {
        int magic = (int) chunk.get(0);
        if (magic == Format.CHUNK_MAGIC) {
            overwrite(chunk);
        } else if (magic != 0) {
            clear(chunk);
        }
    }

    private void dryUntilLater() {
        drySince = System.nanoTime();
        dry = true;
    }

    /** Until this has come to its end the first word says that the chunk is not clean. */
    private static void clear(LongBuffer chunk) {
        chunk.put(0, Format.FREE_MAGIC);
        Fence.release(); // who sees anything cleared sees that, too
        for (int i = 1; i < Format.CHUNK_WORDS; i++) {
            chunk.put(i, 0);
        }
        chunk.put(0, 0);
        if (Cursor.fence != 0 || chunk.get(0) != 0 || chunk.get(Format.CHUNK_WORDS - 1) != 0) {
            throw Cursor.gone();
        }
    }

    /**
     * Looks again and again for a chunk that a consumer has given back, while there is one: its heartbeat moves. Once
     * that was in vain nobody waits any more until a chunk is found.
     */
    private LongBuffer await(Cursor cursor) {
        boolean interrupted = false;
        LongBuffer chunk = null;
        long moved = System.nanoTime();
        long heartbeat = header.heartbeat();
        try {
            while (chunk == null && !dry && System.nanoTime() - moved < settings.patience * 1_000_000L) {
                try {
                    Thread.sleep(NAP);
                } catch (InterruptedException e) {
                    interrupted = true;
                }
                long beat = header.heartbeat();
                if (beat != heartbeat) {
                    heartbeat = beat;
                    moved = System.nanoTime();
                }
                chunk = look(cursor, false);
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
        return chunk;
    }

    private LongBuffer look(Cursor cursor, boolean virtual) {
        Lane.probe(400);
        Thread self = Thread.currentThread();
        LongBuffer old = cursor == null ? null : cursor.words;
        while (true) {
            LongBuffer chunk;
            boolean grows;
            try {
                if (!gate.enter(self, virtual)) {
                    return null;
                }
                chunk = free.poll();
                grows = chunk == null && file.mayGrow();
                if (chunk == null && !grows) {
                    if (settings.policy == Settings.RING) {
                        chunk = oldest(old);
                    } else {
                        reclaim();
                        chunk = free.poll();
                    }
                }
                if (chunk != null && old != null && chunk != old) {
                    cursor.leave(); // first, lest a chunk has two owners
                    retire(old, cursor.at);
                }
            } finally {
                if (gate.owner == self) {
                    gate.owner = null;
                }
            }
            if (grows && ahead < MOST_AHEAD) {
                ahead *= 2; // not exact when threads collide here
            }
            if (supplier != null && 2 * free.size() <= ahead) {
                supplier.wake();
            }
            if (!grows) {
                return chunk;
            }
            // The supplier is behind, or there is none.
            if (!grow(self, virtual) && file.mayGrow()) {
                return null;
            }
        }
    }

    private void add(ByteBuffer region, int from) {
        for (int at = from; at < region.capacity(); at += Format.CHUNK) {
            region.limit(at + Format.CHUNK);
            region.position(at);
            free.add(region.slice().order(ByteOrder.LITTLE_ENDIAN).asLongBuffer());
            chunks += 1;
        }
    }

    private void retire(LongBuffer chunk, int at) {
        Fence.release(); // who sees the END sees the whole chunk
        Cursor.set(chunk, at, Format.escape(Format.END, 0, 0));
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
        return chunk;
    }

    /** Counts what is in a chunk that the ring takes, and clears it. Not behind the gate: it takes a while. */
    private void overwrite(LongBuffer chunk) {
        header.addOverwritten(records(chunk));
        clear(chunk);
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
        dead.ensureCapacity(dead.size() + lanes.size()); // so that nothing fails below
        deadSums.ensureCapacity(deadSums.size() + lanes.size());
        int kept = 0;
        for (int i = 0; i < lanes.size(); i++) {
            Lane lane = lanes.get(i);
            Thread thread = lane.thread.get();
            if (thread != null && thread.isAlive()) {
                lanes.set(kept++, lane);
                continue;
            }
            lane.tell(header);
            if (!lane.tally.isEmpty()) {
                dead.add(lane.tally);
            }
            if (!lane.table.isEmpty()) {
                deadSums.add(lane.table);
            }
            LongBuffer chunk = lane.words;
            if (chunk == null) {
                continue;
            }
            if (lane.torn) {
                lane.mend();
            }
            lane.leave(); // first, lest a chunk has two owners
            if (Format.CHUNK_WORDS - lane.at >= WORTHWHILE) {
                chunk.position(lane.at);
                resting.add(chunk);
            } else {
                retire(chunk, lane.at);
            }
        }
        lanes.subList(kept, lanes.size()).clear();
    }
}
