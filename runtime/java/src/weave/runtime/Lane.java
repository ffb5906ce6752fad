package weave.runtime;

import java.lang.ref.WeakReference;
import java.nio.LongBuffer;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;

/**
 * What the library knows of one logical thread; only that thread touches it. A platform thread's lane is also its
 * cursor. A virtual thread has no chunk of its own: its {@link #end} is always 0, and each record goes to a
 * {@link Slots.Slot}.
 */
final class Lane extends Cursor {
    /** Of threads that are not recorded, and of a thread while its lane is made. Never written to. */
    static final Lane MUTE = new Lane();

    private static final long[] NOTHING = new long[0];
    private static final Frame[] NO_FRAMES = new Frame[0];
    /** The most open calls that are summed up: of a platform thread, and of one whose sums are shared, which looks through them. */
    private static final int DEEPEST = 1 << 16;
    private static final int DEEPEST_SHARED = 1 << 10;
    /** Frames of room that an outermost sampled call needs: those of the smallest hook, as an interpreter has them. */
    private static final int ROOM = 16;
    /** Longer than any gap. */
    private static final long AMONG = Long.MIN_VALUE;
    /** A platform thread adds so many lost records at once to the header, which all threads share. */
    private static final int BATCH = 1_024;
    /** In one of so many calls it is asked what switches them. */
    private static final int MEETINGS = 256;

    private static final AtomicIntegerFieldUpdater<Lane> TOLD = told("told");
    private static final AtomicIntegerFieldUpdater<Lane> TOLD_FAILED = told("toldFailed");
    private static final AtomicIntegerFieldUpdater<Lane> TOLD_BROKEN = told("toldBroken");
    private static final AtomicIntegerFieldUpdater<Lane> TOLD_DEEP = told("toldDeep");

    /** What this thread counts in, from {@link #tally}; empty where it takes the slow path. */
    private long[] cells = Tally.EMPTY;
    /** A virtual thread's is never used. */
    final Tally tally = new Tally();

    /** Open calls that are summed up, in the lower {@link #depth} places. */
    private Frame[] frames = NO_FRAMES;
    int depth;
    /** Such calls beyond those that frames are kept for: they are only counted. */
    private int beyond;
    /** Sums of this thread, from {@link #table}. */
    private Sum[] sums = Sums.EMPTY;
    /** A virtual thread's is never used. */
    final Sums table = new Sums();
    /** {@link #AMONG} where records have to do with calls that are summed up, else 0. */
    private long mark;
    /** Time in calls that were summed up, below the innermost recorded call, which does not know of it yet. */
    private long owed;

    /** Whether a sampled call is open, and is recorded. */
    byte tree;
    static final byte NO_TREE = 0;
    static final byte TAKEN = 1;
    private static final byte PASSED = 2;
    /** {@link Hooks#stranded} when it began. */
    private int stranded;
    /** One of so many outermost calls is taken: how many are left of these, and with how many left that is. */
    private int every;
    private int left;
    private int pick;
    private int seed;
    /** The SAMPLED escape of such a call. */
    private long[] weighed;

    /** The span that this thread runs in, if it runs in one. */
    private Span span;
    /** The span that it has left for another one, which was kept. */
    private Turn turn;
    /** What it has taken in open methods that take contexts, the innermost first. */
    private Taken taken;
    /** That of who has started this thread, which runs in it as long as it is open. */
    private Span inherited;
    /** What came in with the call that is about to begin. */
    private Parent parent;
    private Origin origin;
    /** {@link Net} knows this lane. */
    private boolean cast;
    /** For ids. */
    private long random;

    private final Store store;
    final int number;
    /** Null for a virtual thread. */
    final WeakReference<Thread> thread;

    /** The thread is inside the library: hooks called now, by woven code that the library calls, do nothing. */
    boolean busy;
    /** The thread is the library's own, and has samples alone. */
    boolean own;
    /** Whether a THREAD escape was written; asked for virtual threads only. */
    private boolean named;
    /** The name in {@link #introduction}; for platform threads only, as that is. */
    private String name;
    private long[] introduction;
    /** {@link Secrets#changes} when it was made. */
    private int introduced;
    /** Number of the next segment. */
    private int segment;
    /** Lost records for which no LOST escape was written yet. */
    long lost;
    /** Hooks that failed; only counts up, as the next two do. How much of each the header has is in {@link #told} and so on. */
    int failed;
    /** Lost records: all; because a hook failed; and because it did so for want of stack. */
    int untold;
    int broken;
    int deep;
    /** CPU time of the thread as the trace has it. By {@link Meter} alone. */
    long cpu;
    /** A hook failed with what HotSpot throws when a page is gone. */
    boolean fault;
    private volatile int told;
    private volatile int toldFailed;
    private volatile int toldBroken;
    private volatile int toldDeep;
    /** Calls of methods of which it is not known what switches them. */
    private int met;
    /** When {@link Names} may be asked again. */
    long askAgain;
    /** The payload of the LOST escape that ends the data so far, or 0. */
    private int lostAt;
    /** The slot that a virtual thread wrote to last. */
    private int seat;
    /** Where the last segment is. A slot that nobody else has written to since goes on with an older one. */
    private Cursor latest;
    /** The exception that was described last. */
    private WeakReference<Throwable> thrown;
    /** For a SLOW escape. */
    private final long[] telling = new long[3];

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
        this.seed = first(store.draws, number);
    }

    /** What the draws of a thread begin with, never 0. Those of numbers that follow one another lie evenly, from a place on that is the process's. */
    private static int first(long draws, int number) {
        int seed = (int) (draws >>> 32 ^ draws) * 0x9E37_79B1 + number * 0x9E37_79B9;
        return seed == 0 ? 1 : seed;
    }

    private static AtomicIntegerFieldUpdater<Lane> told(String field) {
        return AtomicIntegerFieldUpdater.newUpdater(Lane.class, field);
    }

    /** Enter, exit, or an error of an exception that is known. The whole hot path. */
    void record(int kind, int id, long now) {
        long gap = now - last;
        int word = at;
        if (word < end && (gap | mark) >>> Format.PAUSE_BITS == 0) {
            write(word, (long) id << 32 | gap << 2 | kind, now);
        } else {
            pause(kind, id, now);
        }
    }

    /**
     * Two words are read again, the record and the zero behind it: an instruction that HotSpot skips leaves its register as it
     * was, which in C1's code is the record.
     */
    private void write(int word, long record, long now) {
        LongBuffer chunk = words;
        chunk.put(word, record);
        at = word + 1;
        last = now;
        if (fence != 0 || (chunk.get(word) ^ record | chunk.get(word + 1)) != 0) {
            fault();
        }
    }

    /** After a pause, in which code may have been loaded, the names of what begins are looked for. */
    private void pause(int kind, int id, long now) {
        if (mark != 0 && !busy) {
            among(kind, id, now);
        }
        if (inherited != null && span == inherited && span.over && !busy) {
            drop();
        }
        long gap = now - last;
        int word = at;
        if (word < end && gap >>> Format.GAP_BITS == 0 && (kind != Format.ENTER || store.names.known(id))) {
            write(word, (long) id << 32 | gap << 2 | kind, now);
        } else {
            slow(kind, id, now, null, NOTHING);
        }
    }

    /** The page is gone: the record, and all that follow. */
    private void fault() {
        end = 0;
        at--;
        lost++;
        untold++;
        try {
            store.fault();
        } finally {
            settle();
        }
    }

    /** What becomes of a call that is sampled: one of {@code number} or, a second, so many. */
    int sampled(int number, boolean second) {
        if (busy) {
            return Switched.NOTHING;
        }
        if (tree != NO_TREE && stranded == Hooks.stranded) {
            return tree == TAKEN ? Switched.RECORDED : Switched.NOTHING;
        }
        probe(ROOM); // the hook at its end must be able to begin, or the thread would stay in the tree
        int weight;
        if (second) {
            weight = Limiter.of(number).take(System.nanoTime());
        } else {
            if (left == 0 || every != number) {
                every = left = number;
                // Anew each time: calls that take turns have all their share.
                pick = (int) ((seed & 0xFFFF_FFFFL) * number >>> 32);
                seed ^= seed << 13;
                seed ^= seed >>> 17;
                seed ^= seed << 5;
            }
            weight = --left == pick ? number : 0;
        }
        stranded = Hooks.stranded;
        tree = weight == 0 ? PASSED : TAKEN;
        return weight == 0 ? Switched.PASSED : Switched.taken(weight);
    }

    /** The enter record of an outermost sampled call, and right in front of it for how many it stands. */
    void outermost(int id, int weight, long now) {
        long escape = Format.escape(Format.SAMPLED, 1, id);
        int word = at;
        if (word + 2 < end && (now - last | mark) >>> Format.PAUSE_BITS == 0) {
            torn = true;
            end = 0;
            valued(word, 1, weight, escape);
            record(Format.ENTER, id, now);
        } else if (!busy) {
            if (mark != 0) {
                among(Format.ENTER, id, now);
            }
            if (weighed == null) {
                weighed = new long[2];
            }
            weighed[0] = escape;
            weighed[1] = weight;
            slow(Format.ENTER, id, now, null, weighed);
        }
    }

    /** The span that this thread runs in; null where there is none. */
    Span context() {
        if (inherited != null && span == inherited && span.over && !busy) {
            drop();
        }
        return busy ? null : span;
    }

    /** What this thread has got from who started it is over. */
    private void drop() {
        int id = inherited.method;
        span = inherited = null;
        change(id);
    }

    /** Who has started this thread ran in this span. */
    void inherit(Span from) {
        span = inherited = from;
    }

    /** What becomes of a call that is a span, which brings this context along, or none. */
    int decide(String once, Parent came, Origin of, int id) {
        Parent from = came;
        if (busy) {
            return Switched.NOTHING;
        }
        Span around = context();
        Span above = of == null || of.given == null ? around : of.given;
        if (from == null && above == null && Sampler.SET.draws()) {
            from = Sampler.SET.root(nextId(), nextId());
        }
        boolean quiet = from == null ? above != null && !above.isRecorded() : (from.flags & Span.SAMPLED) == 0;
        if (above != null && once != null && above.isWithin(once) || quiet && from == null && above == around) {
            return Switched.NOTHING;
        }
        if (quiet) {
            span = from != null ? new Span(from, around, nextId(), once, id, number)
                : new Span(above, around, 0, 0, nextId(), once, id, number);
            return Spans.QUIET;
        }
        parent = from;
        origin = of;
        return Switched.RECORDED;
    }

    /** A call begins that is a span. A server's is no other span's, unless its caller says so. */
    void begin(int kind, String once, int id, long now) {
        if (busy) {
            return;
        }
        Span around = context();
        Parent from = parent;
        Origin of = origin;
        parent = null;
        origin = null;
        Span above = of != null && of.given != null ? of.given : kind == Spans.SERVER ? null : around;
        Span next = from != null ? new Span(from, around, nextId(), once, id, number)
            : new Span(above, around, nextId(), nextId(), nextId(), once, id, number);
        if (mark != 0) {
            among(Format.ENTER, id, now);
        }
        if (next.state != null) {
            value(next.state, Format.STRING, Span.STATE, Span.LONGEST_STATE, null, id);
        }
        for (int i = 0; of != null && i < of.links(); i++) {
            value(of.link(i), Format.STRING, Span.LINK, Span.LONGEST_LINK, null, id);
        }
        slow(Format.ENTER, id, now, null, next.begun());
        next.segment = segment;
        span = next;
        cast = cast || Net.cast(this);
    }

    /** This thread's innermost span of this method; null where its begin was lost, and of what is handed over here. */
    Span innermost(int id) {
        Span found = span;
        Taken took = took(taken);
        while (found != null) {
            if (took != null && found == took.span) {
                found = took.before;
                took = took(took.outer);
            } else if (found.thread == number && found.method != id) {
                found = found.before();
            } else {
                break;
            }
        }
        return busy || found == null || found.thread != number ? null : found;
    }

    /** The innermost context that was taken. */
    private static Taken took(Taken taken) {
        Taken found = taken;
        while (found != null && found.span == null) {
            found = found.outer;
        }
        return found;
    }

    /** The innermost span of this method ends, and those within it whose ends were lost. */
    void end(int id) {
        Span over = innermost(id);
        if (over != null) {
            leave(over, null, id);
        }
    }

    /** The call of this method returns, and its span goes on. */
    void stay(int id, long now) {
        Span stays = innermost(id);
        if (stays == null) {
            record(Format.EXIT, id, now);
            return;
        }
        if (mark != 0) {
            among(Format.EXIT, id, now);
        }
        slow(Format.EXIT, id, now, null, new long[] {Format.escape(Format.STAYS, 1, id), stays.id});
        leave(stays, stays, id);
    }

    /** The thread is through with a span, and with those within it; all end but {@code stays}. */
    private void leave(Span over, Span stays, int id) {
        Span outer = over.before();
        for (Span one = span; one != outer;) {
            Taken took = took(taken);
            if (took != null && one == took.span) {
                one = took.before; // it is over with the span
                taken = took.outer;
                continue;
            }
            Span next = one.before();
            if (one == stays) {
                one.rest();
            } else {
                one.end();
            }
            one = next;
        }
        span = outer;
        if (over.segment != segment && over.isRecorded()) {
            // A segment has begun within it, and says that the thread runs in it.
            change(id);
        }
    }

    /** Tells the trace in what this thread runs from here on. */
    private void change(int id) {
        slow(Format.NONE, id, System.nanoTime(), null, span == null ? Span.NONE : span.context());
    }

    /** This thread goes on in a span that was kept, until {@link #suspend}. */
    boolean resume(Span next) {
        if (busy || !next.isRecorded()) {
            return false;
        }
        turn = new Turn(run(next), turn);
        return true;
    }

    /** It leaves that span, which ends here if {@code ends} says so, by the exception {@code t} if {@code error} does. */
    void suspend(Throwable t, boolean ends, boolean error, long now) {
        Turn over = turn;
        if (busy || over == null) {
            return;
        }
        Span left = span;
        if (ends && left != null) {
            complete(left, t, error, now);
        }
        turn = over.outer;
        run(over.before);
    }

    /** A span ends whose method has returned. */
    void complete(Span span, Throwable t, boolean error, long now) {
        if (!busy && !span.over) {
            long[] complete = {Format.escape(Format.COMPLETE, 3, span.method), span.id, store.time(now), error ? 1 : 0};
            slow(Format.NONE, span.method, now, error ? t : null, complete);
            span.end();
        }
    }

    /** This thread runs in another context from now on, or in none. */
    Span run(Span next) {
        Span before = context();
        if (!busy && next != before) {
            span = next;
            cast = cast || Net.cast(this);
            change(next == null ? before.method : next.method);
        }
        return before;
    }

    /** A method begins that takes contexts. */
    Taken open() {
        if (busy) {
            return null;
        }
        taken = new Taken(null, null, taken);
        return taken;
    }

    /** It ends, and what it has taken is over. */
    void close(Taken method) {
        Taken first = null;
        Taken one = taken;
        while (one != null && one != method) {
            first = one.span == null ? first : one;
            one = one.outer;
        }
        if (busy || one == null) {
            return;
        }
        taken = method.outer;
        if (first != null) {
            run(first.before);
        }
    }

    /** This thread goes on in this context, or in none but its own, until it takes another one or the method ends that takes it. */
    void take(Span next) {
        if (busy) {
            return;
        }
        if (taken != null && taken.span != null && span == taken.span) {
            run(taken.before);
            taken = taken.outer;
        }
        if (next != null && taken != null && next != context()) {
            taken = new Taken(next, context(), taken);
            run(next);
        }
    }

    /** A number for an id, never 0 (splitmix64). */
    private long nextId() {
        if (random == 0) {
            random = store.seed ^ (long) number << 32 ^ System.nanoTime();
        }
        long id;
        do {
            random += 0x9E37_79B9_7F4A_7C15L;
            id = random;
            id = (id ^ id >>> 30) * 0xBF58_476D_1CE4_E5B9L;
            id = (id ^ id >>> 27) * 0x94D0_49BB_1331_11EBL;
            id ^= id >>> 31;
        } while (id == 0);
        return id;
    }

    void error(Throwable t, int id, long now) {
        WeakReference<Throwable> known = thrown;
        if (known != null && known.get() == t) {
            record(Format.ERROR, id, now);
        } else {
            if (mark != 0 && !busy) {
                among(Format.ERROR, id, now);
            }
            slow(Format.ERROR, id, now, t, NOTHING);
        }
    }

    /** A value of one word. {@code first} is that in front of it. */
    void value(long first, long data, int id) {
        int word = at;
        if (word + 2 < end) {
            torn = true;
            end = 0;
            words.put(word + 2, data);
            valued(word, 2, first, Format.escape(Format.VALUE, 2, id));
        } else if (!busy) {
            slow(Format.NONE, id, System.nanoTime(), null, new long[] {Format.escape(Format.VALUE, 2, id), first, data});
        }
    }

    /** A value: what stands for it in the trace, as far as the limit goes. */
    void value(Object v, int kind, int place, int limit, String mask, int id) {
        if (busy) {
            return;
        }
        String[] everywhere = Secrets.everywhere;
        boolean hides = mask != null || everywhere.length != 0;
        long first = place & 0xFFFF_FFFFL;
        String text;
        if (v == null) {
            text(first | Format.NULL, "", 0, id);
            return;
        } else if (v instanceof String) {
            text = (String) v;
            first |= Format.STRING;
        } else if (kind == Format.OTHER) {
            text = said(v);
            first |= text == null ? Format.NOTE : Format.OTHER;
            text = text == null ? note(v) : text;
        } else {
            if (hides && (v instanceof Number || v instanceof Boolean || v instanceof Character)
                && hides(v, place, limit, mask, id)) {
                return;
            } else if (v instanceof Integer || v instanceof Long || v instanceof Short || v instanceof Byte) {
                value(first | Format.SIGNED, ((Number) v).longValue(), id);
                return;
            } else if (v instanceof Double) {
                value(first | Format.DOUBLE, Double.doubleToRawLongBits((Double) v), id);
                return;
            } else if (v instanceof Float) {
                value(first | Format.FLOAT, Float.floatToRawIntBits((Float) v) & 0xFFFF_FFFFL, id);
                return;
            } else if (v instanceof Boolean) {
                value(first | Format.BOOLEAN, (Boolean) v ? 1 : 0, id);
                return;
            } else if (v instanceof Character) {
                value(first | Format.UNIT, (Character) v, id);
                return;
            }
            text = shown(v, hides ? limit + Mask.WINDOW : limit, hides); // what is masked may go on behind the limit
            first |= Format.OTHER;
        }
        if (hides) {
            String masked = Mask.apply(mask, everywhere, text, limit);
            first |= masked != text ? Format.MASKED : 0;
            text = masked;
        }
        int length = text.length();
        if (length > limit) {
            length = limit;
            first |= Format.CUT;
        }
        text(first, text, length, id);
    }

    /** A number, a truth value or a unit of text that a mask holds for. */
    void masked(int kind, long word, int place, int limit, String mask, int id) {
        Object v = kind == Format.BOOLEAN ? (Object) (word != 0) : kind == Format.UNIT ? (Object) (char) word
            : kind == Format.FLOAT ? (Object) Float.intBitsToFloat((int) word)
            : kind == Format.DOUBLE ? (Object) Double.longBitsToDouble(word) : (Object) word;
        value(v, Format.STRING, place, limit, mask, id);
    }

    /** Writes the text of a platform's number and the like in its place, if a mask takes something of it. */
    private boolean hides(Object v, int place, int limit, String mask, int id) {
        if (!v.getClass().getName().startsWith("java.lang.")) {
            return false;
        }
        String whole = v.toString();
        String text = Mask.apply(mask, Secrets.everywhere, whole, limit);
        if (text == whole) {
            return false;
        }
        int length = Math.min(text.length(), limit);
        text(place & 0xFFFF_FFFFL | Format.OTHER | Format.MASKED | (length < text.length() ? Format.CUT : 0), text, length, id);
        return true;
    }

    private void text(long first, String text, int length, int id) {
        int payload = 1 + (length + 3 >> 2);
        int word = at;
        first |= (long) length << 32;
        if (word + payload < end) {
            torn = true;
            end = 0;
            LongBuffer chunk = words;
            for (int from = 0, to = word + 2; from < length; from += 4, to++) {
                chunk.put(to, units(text, from, length));
            }
            valued(word, payload, first, Format.escape(Format.VALUE, payload, id));
        } else {
            long[] escape = new long[1 + payload];
            escape[0] = Format.escape(Format.VALUE, payload, id);
            escape[1] = first;
            for (int from = 0, to = 2; from < length; from += 4, to++) {
                escape[to] = units(text, from, length);
            }
            slow(Format.NONE, id, System.nanoTime(), null, escape);
        }
    }

    /** Up to four units of a text as a word. */
    private static long units(String text, int from, int length) {
        if (from + 4 <= length) {
            return text.charAt(from) | (long) text.charAt(from + 1) << 16 | (long) text.charAt(from + 2) << 32
                | (long) text.charAt(from + 3) << 48;
        }
        long word = 0;
        for (int i = length - 1; i >= from; i--) {
            word = word << 16 | text.charAt(i);
        }
        return word;
    }

    /** Ends an escape whose data is written but for its first words, and then all of it is there. */
    private void valued(int word, int payload, long first, long header) {
        LongBuffer chunk = words;
        chunk.put(word + 1, first);
        Fence.release();
        chunk.put(word, header);
        int behind = word + 1 + payload;
        if (fence != 0 || chunk.get(word) != header || chunk.get(behind) != 0) {
            try {
                store.fault();
            } finally {
                settle();
            }
            return;
        }
        at = behind;
        torn = false;
        end = limit;
    }

    /** A method begins that is only counted. The whole hot path. */
    void count(int id) {
        long[] table = cells;
        int at = Tally.place(table, id);
        while (true) {
            long there = table[at];
            if (there == (id & 0xFFFF_FFFFL)) {
                table[at + 1]++;
                return;
            }
            if (there == 0 || (int) there == id) {
                countSlowly(id);
                return;
            }
            at = at + 2 & table.length - 2;
        }
    }

    /** The same for an id that is new to this thread, and for threads that have no table. */
    private void countSlowly(int id) {
        if (busy) {
            return;
        }
        int stop = end;
        long[] table = cells;
        busy = true;
        end = 0;
        cells = Tally.EMPTY; // so that a nested hook comes here, and no further
        try {
            boolean asked = store.names.known(id);
            if (!asked) {
                long now = System.nanoTime();
                asked = now - askAgain >= 0;
                store.names.ask(id, this, now);
            }
            if (Switch.COLLECTIBLE) {
                if (!store.counts.direct(id, Thread.currentThread(), thread == null)) {
                    uncounted();
                }
            } else {
                store.counts.begin(Thread.currentThread(), thread == null, false);
                if (thread == null) {
                    countInSlot(id);
                } else {
                    table = tally.add(id, 1, asked);
                }
            }
        } finally {
            cells = table;
            end = stop;
            busy = false;
        }
    }

    private void countInSlot(int id) {
        Slots.Slot slot = store.slots.acquire(seat, Thread.currentThread());
        if (slot == null) {
            uncounted();
            return;
        }
        seat = slot.index;
        try {
            slot.tally.add(id, 1, true);
        } finally {
            slot.gate.owner = null;
        }
    }

    /** A call is missing in the counts: nothing is missing among the thread's records. */
    private void uncounted() {
        untold++;
        broken++;
        tell();
    }

    /** A method begins that can be switched, and it is not known by what: now and then its names are looked for. */
    void meet(int id) {
        if (busy || (met++ & MEETINGS - 1) != 0 || store.names.known(id)) {
            return;
        }
        int stop = end;
        long[] table = cells;
        busy = true;
        end = 0;
        cells = Tally.EMPTY; // so that a nested hook comes to nothing
        try {
            store.names.ask(id, this, System.nanoTime());
        } finally {
            cells = table;
            end = stop;
            busy = false;
        }
    }

    /** A method begins that is summed up. The whole hot path, as that of {@link #stop}. */
    void start(int id) {
        if (busy) {
            return;
        }
        Sum[] all = sums;
        int at = Sums.place(all, id);
        Sum sum = all[at];
        while (sum != null && (int) sum.key != id) {
            at = at + 1 & all.length - 1;
            sum = all[at];
        }
        int top = depth;
        if (sum == null || sum.key >>> 32 != 0 || top == frames.length || beyond != 0) {
            startSlowly(id);
            return;
        }
        Frame frame = frames[top];
        sum.begin();
        open(frame, id, sum, false, System.nanoTime());
    }

    private void open(Frame frame, int id, Sum sum, boolean counted, long now) {
        frame.id = id;
        frame.sum = sum;
        frame.counted = counted;
        frame.inner = 0;
        frame.recorded = 0;
        frame.start = now;
        mark = AMONG;
        depth++;
    }

    /** The same for an id that is new to this thread, and for threads that share their sums. */
    private void startSlowly(int id) {
        boolean shared = thread == null || Switch.COLLECTIBLE;
        if (beyond == 0 && depth == frames.length && !deepen(shared ? DEEPEST_SHARED : DEEPEST) || beyond != 0) {
            beyond++;
            count(id);
            return;
        }
        Thread self = Thread.currentThread();
        Sum sum = null;
        boolean counted = false;
        int stop = end;
        long[] cells = this.cells;
        busy = true;
        end = 0;
        this.cells = Tally.EMPTY; // so that a nested hook comes to nothing
        try {
            boolean asked = store.names.known(id);
            if (!asked) {
                long now = System.nanoTime();
                asked = now - askAgain >= 0;
                store.names.ask(id, this, now);
            }
            if (Switch.COLLECTIBLE) {
                if (!store.counts.direct(id, null, 0, false, false, self, thread == null)) {
                    uncounted();
                }
            } else {
                store.counts.begin(self, thread == null, true);
                if (thread == null) {
                    counted = !inSlot(id, null, 0, false, false);
                } else {
                    sum = table.get(id);
                    if (sum == null && store.counts.aggregates.take()) {
                        sum = new Sum(id);
                        table.add(sum);
                        sums = table.all();
                    }
                    if (sum != null) {
                        sum.key = id & 0xFFFF_FFFFL | (asked ? 0 : Tally.UNASKED);
                        sum.begin();
                    }
                    counted = sum == null;
                }
            }
        } finally {
            this.cells = cells;
            end = stop;
            busy = false;
        }
        if (counted) {
            count(id);
        }
        open(frames[depth], id, sum, counted, System.nanoTime());
    }

    /** Makes room for more frames; false if there are as many as there may be. */
    private boolean deepen(int most) {
        int old = frames.length;
        if (old >= most) {
            return false;
        }
        Frame[] next = java.util.Arrays.copyOf(frames, Math.max(16, 2 * old));
        for (int i = old; i < next.length; i++) {
            next[i] = new Frame();
        }
        frames = next;
        return true;
    }

    /** A method ends that is summed up. */
    void stop(int id, long now, boolean failed) {
        if (busy) {
            return;
        }
        int top = depth - 1;
        if (beyond != 0 || top < 0 || frames[top].id != id || frames[top].sum == null) {
            stopSlowly(id, now, failed);
            return;
        }
        Frame frame = frames[top];
        depth = top;
        Sum sum = frame.sum;
        long took = close(frame, now);
        sum.end(took, Math.max(0, took - frame.inner), failed, sum.close());
    }

    /** When the innermost call that is summed up has begun, if it is of this method; else {@link Long#MIN_VALUE}. */
    long began(int id) {
        int top = depth - 1;
        return busy || beyond != 0 || top < 0 || frames[top].id != id ? Long.MIN_VALUE : frames[top].start;
    }

    /** Tells of a call that is in the sums by itself, the last one that has ended: not of more than so many a second. Allocates nothing. */
    void tell(int id, long start, long now, boolean failed) {
        Sum sum = frames[depth].sum;
        if (sum != null && !sum.tells(now) || !store.counts.aggregates.tells(now)) {
            return;
        }
        long began = store.time(start);
        long took = Math.max(0, now - start) | (failed ? Long.MIN_VALUE : 0);
        int word = at;
        if (word + 2 < end) {
            torn = true;
            end = 0;
            words.put(word + 2, took);
            valued(word, 2, began, Format.escape(Format.SLOW, 2, id));
        } else {
            telling[0] = Format.escape(Format.SLOW, 2, id);
            telling[1] = began;
            telling[2] = took;
            slow(Format.NONE, id, now, null, telling);
        }
    }

    /** The frame above the last has ended: its time is not that of who called it. */
    private long close(Frame frame, long now) {
        long took = Math.max(0, now - frame.start);
        owed += Math.max(0, took - frame.inner);
        if (depth > 0) {
            Frame around = frames[depth - 1];
            around.inner += around.recorded == 0 ? took : 0; // else it is that of the recorded call
        }
        return took;
    }

    /** The same for threads that share their sums, and where a hook in between has failed. */
    private void stopSlowly(int id, long now, boolean failed) {
        if (beyond != 0) {
            beyond--;
            return;
        }
        int top = depth - 1;
        while (top >= 0 && frames[top].id != id) {
            top--;
        }
        if (top < 0) {
            return; // its begin was lost, and counted as such
        }
        while (depth > top + 1) {
            Sum lost = frames[--depth].sum;
            if (lost != null) {
                lost.close();
            }
        }
        Frame frame = frames[top];
        depth = top;
        long took = close(frame, now);
        if (frame.sum != null) {
            frame.sum.end(took, Math.max(0, took - frame.inner), failed, frame.sum.close());
            return;
        }
        if (frame.counted) {
            return;
        }
        boolean outermost = true;
        for (int i = top - 1; i >= 0 && outermost; i--) {
            outermost = frames[i].id != id;
        }
        int stop = end;
        busy = true;
        end = 0;
        try {
            boolean known = Switch.COLLECTIBLE
                ? store.counts.direct(id, frame, took, failed, outermost, Thread.currentThread(), thread == null)
                : inSlot(id, frame, took, failed, outermost);
            if (!known) {
                uncounted();
            }
        } finally {
            end = stop;
            busy = false;
        }
    }

    /** Begins a call in a slot, or ends it; false if it has no place there. */
    private boolean inSlot(int id, Frame ended, long took, boolean failed, boolean outermost) {
        Slots.Slot slot = store.slots.acquire(seat, Thread.currentThread());
        if (slot == null) {
            return false;
        }
        seat = slot.index;
        try {
            Sum sum = slot.sums.get(id);
            if (sum == null) {
                if (!store.counts.aggregates.take()) {
                    return false;
                }
                sum = new Sum(id);
                slot.sums.add(sum);
            }
            if (ended == null) {
                sum.begin();
            } else {
                sum.end(took, Math.max(0, took - ended.inner), failed, outermost);
            }
            return true;
        } finally {
            slot.gate.owner = null;
        }
    }

    /** A method begins and ends at one time. */
    void moment(int id) {
        int before = depth;
        start(id);
        if (depth > before || beyond != 0) {
            stop(id, depth > before ? frames[depth - 1].start : 0, false);
        }
    }

    /** A record, where calls are summed up around it or below the one that is open. */
    private void among(int kind, int id, long now) {
        if (depth == 0) {
            mark = 0;
        } else {
            Frame around = frames[depth - 1];
            if (kind == Format.ENTER) {
                around.since = around.recorded++ == 0 ? now : around.since;
            } else if (around.recorded > 0 && --around.recorded == 0) {
                around.inner += Math.max(0, now - around.since);
            }
        }
        if (owed == 0) {
            return;
        }
        long time = owed;
        owed = 0;
        if (segment == 0) {
            return; // no call of this thread is recorded yet
        }
        int word = at;
        if (word + 2 < end) {
            torn = true;
            end = 0;
            valued(word, 1, time, Format.escape(Format.AGGREGATED, 1, 0));
        } else {
            slow(Format.NONE, id, now, null, new long[] {Format.escape(Format.AGGREGATED, 1, 0), time});
        }
    }

    /** An object as a text. */
    private String shown(Object v, int limit, boolean hides) {
        return unrecorded(v, limit, hides, false);
    }

    /** What an object says of itself; null if it throws. */
    private String said(Object v) {
        try {
            return unrecorded(v, 0, false, true);
        } catch (Throwable failure) {
            Host.pass(failure);
            return null;
        }
    }

    /** One of these. What is woven is not recorded meanwhile: it may be the platform's collection that is asked. */
    private String unrecorded(Object v, int limit, boolean hides, boolean says) {
        int stop = end;
        long[] counted = cells;
        busy = true;
        end = 0;
        cells = Tally.EMPTY;
        try {
            return says ? String.valueOf(v.toString()) : Texts.of(v, limit, hides);
        } finally {
            cells = counted;
            end = stop;
            busy = false;
        }
    }

    private static String note(Object v) {
        return v.getClass().getName() + ".toString failed";
    }

    /** Writes what the process uses. For the library's own thread, which has no other records. */
    void sample(long[] escape) {
        busy = true;
        try {
            if (!store.faulted) {
                write(this, Format.NONE, 0, System.nanoTime(), escape);
            }
        } catch (InternalError fault) {
            store.fault();
            settle();
        } finally {
            busy = false;
        }
    }

    /** Anything that needs more than one word: a new chunk, an escape, a shared slot. {@code value} is one, or nothing. */
    private void slow(int kind, int id, long now, Throwable news, long[] value) {
        if (busy) {
            return;
        }
        long[] counted = cells;
        busy = true;
        end = 0; // so that a nested hook comes here, and no further
        cells = Tally.EMPTY;
        try {
            if (fault) {
                store.fault();
            }
            if (store.faulted) {
                if (kind != Format.NONE) {
                    ended(); // and no more: each word that is gone takes microseconds
                }
                return;
            }
            long[] details = value;
            WeakReference<Throwable> reference = null;
            if (news != null) {
                if (now - store.speechlessUntil < 0) {
                    speechless();
                    return;
                }
                try {
                    details = Format.exception(news, id, value);
                    reference = new WeakReference<Throwable>(news);
                } catch (OutOfMemoryError full) {
                    store.speechlessUntil = System.nanoTime() + Store.DRY_SPELL; // each try would collect garbage
                    throw full;
                }
            }
            if (kind <= Format.ENTER && !store.names.known(id)) {
                store.names.ask(id, this, now);
            }
            boolean written;
            if (thread != null) {
                written = write(this, kind, id, now, details);
            } else {
                Thread self = Thread.currentThread();
                Slots.Slot slot = store.slots.acquire(seat, self);
                if (slot == null) {
                    written = kind != Format.NONE && lose();
                } else {
                    seat = slot.index;
                    try {
                        written = write(slot, kind, id, now, details);
                    } finally {
                        slot.gate.owner = null;
                    }
                }
            }
            if (written && news != null) {
                thrown = reference;
            }
            if (failed != toldFailed) {
                tell();
            }
        } catch (InternalError fault) {
            store.fault();
            settle();
            throw fault;
        } finally {
            cells = counted;
            end = store.faulted || torn ? 0 : limit; // what is torn is mended on the slow path
            busy = false;
        }
    }

    /**
     * Writes a record and the escapes that it needs. The stack may end, and the heap, at any call in here: until the
     * assignments at the end nothing has happened but that the cursor is torn.
     */
    private boolean write(Cursor c, int kind, int id, long now, long[] details) {
        if (c.torn) {
            c.mend();
        }
        c.torn = true;
        int word;
        long gap = 0;
        boolean begins = false;
        int need = 1 + details.length + 2 + 2; // the record, and at most a TIME and a LOST
        if (c == latest && c.owner == number && c.at + need <= c.limit) {
            word = c.at;
            gap = now - c.last;
            if (kind == Format.NONE) {
                now = c.last; // it does not set the clock
            } else if (gap >>> Format.GAP_BITS != 0) {
                gap = 0;
                word = c.put(word, Format.TIME, store.time(now));
            }
        } else {
            boolean virtual = thread == null;
            long[] intro = virtual && named ? NOTHING : introduction(virtual);
            long[] context = span == null ? NOTHING : span.context();
            need += 3 + intro.length + context.length;
            if (c.words != null && c.at + need <= c.limit) {
                word = c.put(c.at, new long[] {
                    Format.escape(Format.SEGMENT, 2, number), segment & 0xFFFF_FFFFL, store.time(now)
                });
                begins = true;
            } else if (store.next(c, number, segment, now, virtual)) {
                segment++; // it is in the chunk's header already
                word = c.at;
            } else {
                if (kind != Format.NONE) {
                    lose();
                }
                c.torn = false;
                return false;
            }
            word = c.put(word, intro);
            word = c.put(word, context);
        }
        if (lost != 0) {
            word = c.put(word, Format.LOST, lost);
        }
        word = c.put(word, details);
        if (kind != Format.NONE) {
            set(c.words, word, (long) id << 32 | gap << 2 | kind);
            word++;
        }
        if (begins) {
            segment++;
            c.owner = number;
        }
        latest = c;
        named = true;
        lost = 0;
        lostAt = 0;
        c.at = word;
        c.last = now;
        c.torn = false;
        return true;
    }

    /** The THREAD escape: in each chunk of a platform thread, since the ring may have overwritten the one before. */
    private long[] introduction(boolean virtual) {
        Thread self = Thread.currentThread();
        String now = self.getName();
        if (virtual) {
            return Format.thread(self, now, number, true, false);
        }
        int changes = Secrets.changes;
        if (now != name || changes != introduced) {
            name = now;
            introduced = changes;
            introduction = Format.thread(self, now, number, false, own);
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
                set(words, lostAt, words.get(lostAt) + 1 + lost);
            }
            lost = 0;
        }
        if (first || thread == null || untold - told >= BATCH) {
            tell();
        }
        return false;
    }

    /** Counts an error as lost because there is no memory for its description. */
    private void speechless() {
        broken++;
        if (torn) {
            mend();
        }
        torn = true;
        lose();
        torn = false;
    }

    /** Counts a record that comes after the trace has ended. */
    private void ended() {
        lost++;
        untold++;
    }

    /** Brings the header's counters up to date, if the stack has room for that; else a later call does. */
    private void tell() {
        try {
            probe(64);
        } catch (StackOverflowError later) {
            return;
        }
        tell(store.header);
    }

    /** The same, by any thread: each loss is counted once. */
    void tell(Header header) {
        header.addLost(news(TOLD, untold));
        header.addFailures(news(TOLD_FAILED, failed));
        int short_ = news(TOLD_DEEP, deep);
        header.addLostDeep(short_);
        header.addLostFailed(news(TOLD_BROKEN, broken) - short_);
    }

    private int news(AtomicIntegerFieldUpdater<Lane> counter, int now) {
        return now - counter.getAndSet(this, now);
    }

    /** Fails with a StackOverflowError if the stack has no room for so many small frames. */
    static int probe(int frames) {
        return frames == 0 ? 0 : 1 + probe(frames - 1);
    }
}
