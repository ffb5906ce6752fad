package weave.runtime;

import java.nio.LongBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Set;
import java.util.TreeSet;

/**
 * What is switched while the program runs: what {@code weave control} asks for lies in a file beside the trace, which the
 * supplier's thread looks at. What it switched goes into the trace, in chunks that stay. Only the library's own threads come here.
 */
final class Control {
    /** The longest until a request is seen; and that soon after another. */
    private static final long PAUSE = 500_000_000L;
    private static final long SHORT_PAUSE = 20_000_000L;
    private static final long SOON = 10_000_000_000L;
    /** The most methods that can be switched. */
    private static final int MOST_METHODS = 1 << 22;
    /** So many chunks may tell of changes, and so many of these of what is decided. */
    private static final int MOST_CHUNKS = 32;
    private static final int MOST_DECIDED = 16;
    /** The most bytes of an entry with words. */
    private static final int MOST_WORDS = 2_000;
    /** Words at a chunk's end that are kept for the entry about changes that found no room. */
    private static final int REST = 2 + 3;
    /** What an entry of a chunk says, beside what is on. */
    private static final int SUMMED = 1;
    private static final int COUNTED = 2;
    private static final int AGAIN = 3;
    private static final int LEFT = 4;
    private static final int MORE = 5;
    /** The most methods in one. */
    private static final int MOST_TOLD = 8_000;
    /** Microseconds beyond which a call is told by itself, where no rule says them. */
    private static final int USUAL = 1_000;
    private static final String[] LEVELS = {"error", "info", "debug"};

    private final Store store;
    private final RequestFile file;
    private final Budget budget;
    private final ArrayList<Ids.Row> rows = new ArrayList<Ids.Row>();
    private int methods;
    private byte[] seen = new byte[0];
    /** The request that was taken last, if there is one. */
    private int number;
    private boolean taken;

    private int level;
    private String mode = "rules";
    private Set<String> enabled = new TreeSet<String>();
    private Set<String> disabled = new TreeSet<String>();

    /** When the table of modes was made anew. */
    private volatile long applied;
    private volatile boolean switches;

    private LongBuffer chunk;
    private int chunks;
    private int at;
    /** Where in the chunk the entry about further changes is; 0 for none. What it says: how many, the time of the last, how long all was off. */
    private int more;
    private long changes;
    private long since;
    private long offFor;
    private boolean wasOff;

    Control(Store store) {
        this.store = store;
        this.level = Modes.LEVEL;
        file = new RequestFile(store.path(), store.nonce);
        budget = new Budget(store);
    }

    /** How long until {@link #look} may have something to do, in nanoseconds. */
    long pause() {
        if (!switches) {
            return Long.MAX_VALUE;
        }
        long pause = taken && System.nanoTime() - applied < SOON ? SHORT_PAUSE : PAUSE;
        return governs() ? Math.min(pause, budget.pause()) : pause;
    }

    /** A map says what can be switched. */
    synchronized void add(Ids ids) {
        if (ids.rows.isEmpty()) {
            return;
        }
        boolean first = rows.isEmpty();
        for (Ids.Row row : ids.rows) {
            if (row.count > 0 && row.count <= MOST_METHODS - methods) {
                rows.add(row);
                methods += row.count;
                govern(row);
            }
        }
        apply();
        if (first) {
            file.open();
            note(); // what it began with
            switches = true;
            store.wake();
        }
    }

    /** Takes a request if there is a new one. */
    synchronized void look() {
        byte[] bytes = rows.isEmpty() ? null : file.read();
        if (bytes == null || Arrays.equals(bytes, seen)) {
            return;
        }
        Request request = Request.of(bytes, store.settings.pid + " " + store.wallClock, file.nonce);
        if (request == null || !request.isAfter(number)) {
            seen = bytes;
            return; // nothing of it is done
        }
        Initial.end();
        seen = bytes;
        boolean all = mode.equals("auto");
        boolean again = request.reset;
        level = request.level < 0 ? level : request.level;
        mode = request.mode;
        enabled = request.enabled;
        disabled = request.disabled;
        if (all != mode.equals("auto")) {
            again = true;
            budget.slower.clear();
            for (Ids.Row row : rows) {
                govern(row);
            }
        }
        boolean decided = budget.decided.size() > 0;
        if (again) {
            budget.reset();
        }
        applied = System.nanoTime();
        apply();
        note();
        if (again && decided) {
            note(AGAIN, new byte[0]);
        }
        number = request.number;
        taken = true;
        store.header.setRequest(number);
    }

    /** The number of a level; {@code other} if the word is none. */
    static int level(String word, int other) {
        for (int i = 0; i < LEVELS.length; i++) {
            if (LEVELS[i].equals(word)) {
                return i;
            }
        }
        return other;
    }

    private boolean isOn(Ids.Aspect[] by) {
        for (Ids.Aspect aspect : by) {
            if (!disabled.contains(aspect.name) && (aspect.level <= level || enabled.contains(aspect.name))) {
                return true;
            }
        }
        return false;
    }

    /** Looks whether too much is recorded of methods of which the program itself decides that. */
    synchronized void turn() {
        if (!switches || !governs() || !budget.look()) {
            return;
        }
        int[] summed = budget.tooMany();
        int[] counted = budget.tooDear();
        int[] left = budget.hopeless();
        if (summed.length + counted.length + left.length > 0) {
            apply();
            tell(SUMMED, summed);
            tell(COUNTED, counted);
            tell(LEFT, left);
        }
    }

    /** Whether such decisions hold: not where a request says what is done. */
    private boolean governs() {
        String now = mode;
        return now.equals("rules") || now.equals("auto");
    }

    private void govern(Ids.Row row) {
        for (Ids.Aspect aspect : row.by) {
            if (aspect.overhead > 0) {
                budget.allow(aspect.overhead);
            }
        }
        int slower = mode.equals("auto") && row.slower() < 0 ? USUAL : row.slower();
        for (int i = 0; i < row.count && slower > 0; i++) {
            budget.slower.put(row.first + i, slower * 1_000L);
        }
    }

    /** Says in the trace what was decided about methods. */
    private void tell(int what, int[] ids) {
        for (int from = 0; from < ids.length; from += MOST_TOLD) {
            int count = Math.min(MOST_TOLD, ids.length - from);
            byte[] bytes = new byte[4 * count];
            for (int i = 0; i < count; i++) {
                for (int k = 0; k < 4; k++) {
                    bytes[4 * i + k] = (byte) (ids[from + i] >>> 8 * k);
                }
            }
            note(what, bytes);
        }
    }

    /** Has hooks do what is on from now. */
    private void apply() {
        byte[] next = Modes.room();
        int shared = 0;
        for (Ids.Row row : rows) {
            int now = mode(row);
            for (int i = 0; i < row.count; i++) {
                int id = row.first + i;
                Modes.put(next, id, mode(now, id));
            }
        }
        for (Ids.Row row : rows) {
            for (int i = 0; i < row.count; i++) {
                shared += Modes.isShared(next, row.first + i) ? 1 : 0;
            }
        }
        long[] exact = Modes.exactRoom(shared);
        for (Ids.Row row : shared == 0 ? new ArrayList<Ids.Row>() : rows) {
            int now = mode(row);
            for (int i = 0; i < row.count; i++) {
                int id = row.first + i;
                if (Modes.isShared(next, id)) {
                    Modes.putExactly(exact, id, mode(now, id));
                }
            }
        }
        Modes.use(next, exact);
    }

    /** What becomes of a method where its aspects say this. */
    private int mode(int now, int id) {
        return now == Modes.RULES ? (int) budget.decided.get(id, now) : now;
    }

    private int mode(Ids.Row row) {
        return mode.equals("off") || !isOn(row.by) ? Modes.OFF : mode(mode);
    }

    private static int mode(String word) {
        switch (word) {
            case "count":
                return Modes.COUNT;
            case "aggregate":
                return Modes.AGGREGATE;
            case "record":
                return Modes.RECORD;
            default:
                return Modes.RULES;
        }
    }

    /** Says in the trace what is on from now. */
    private void note() {
        StringBuilder text = new StringBuilder("level ").append(LEVELS[level]).append("\nmode ").append(mode).append('\n');
        int left = names(text, "enable ", enabled) + names(text, "disable ", disabled);
        if (left > 0) {
            text.append("more ").append(left).append('\n');
        }
        byte[] words = text.toString().getBytes(StandardCharsets.UTF_8);
        if (note(0, words)) {
            more = 0;
        } else {
            noteMore();
        }
        wasOff = mode.equals("off");
    }

    /** Adds as many names as an entry takes; how many are left out. */
    private static int names(StringBuilder text, String word, Set<String> names) {
        int left = 0;
        for (String name : names) {
            // A character is three bytes at most, but for pairs, which are four.
            if (3 * (text.length() + word.length() + name.length()) < MOST_WORDS) {
                text.append(word).append(name).append('\n');
            } else {
                left++;
            }
        }
        return left;
    }

    /** Adds an entry to the trace; false if there is no room. */
    private boolean note(int what, byte[] bytes) {
        long[] words = new long[(bytes.length + 7) / 8];
        Format.pack(bytes, 0, bytes.length, words, 0);
        try {
            // One word stays: zero ends the entries.
            if (chunk == null || at + 2 + words.length + REST >= Format.CHUNK_WORDS) {
                boolean decided = what != 0 && what != AGAIN;
                if (Format.CHUNK_HEAD_WORDS + 2 + words.length + REST >= Format.CHUNK_WORDS
                        || chunks >= (decided ? MOST_DECIDED : MOST_CHUNKS)) {
                    return false;
                }
                LongBuffer next = store.kept(Format.CONTROL, chunks);
                if (next == null) {
                    return false;
                }
                chunk = next;
                chunks++;
                at = Format.CHUNK_HEAD_WORDS;
                more = 0;
            }
            put(at, what, words, bytes.length);
            at += 2 + words.length;
            return true;
        } catch (InternalError gone) {
            store.fault();
            Cursor.settle();
            return true;
        }
    }

    /** There was no room for what is on from now: one entry says how often that was, and how long all was off. */
    private void noteMore() {
        long now = store.time(System.nanoTime());
        if (chunk == null) {
            return;
        }
        try {
            if (more == 0) {
                more = at;
                changes = 0;
                offFor = 0;
                at += REST;
            } else if (wasOff) {
                offFor += now - since;
            }
            since = now;
            long count = ++changes << 1 | (mode.equals("off") ? 1 : 0);
            if (changes == 1) {
                put(more, MORE, new long[] {count, now, offFor}, 24);
            } else {
                Cursor.set(chunk, more + 2, count);
                Cursor.set(chunk, more + 3, now);
                Cursor.set(chunk, more + 4, offFor);
            }
        } catch (InternalError gone) {
            store.fault();
            Cursor.settle();
        }
    }

    private void put(int place, int what, long[] words, int length) {
        for (int i = 0; i < words.length; i++) {
            Cursor.set(chunk, place + 2 + i, words[i]);
        }
        Cursor.set(chunk, place + 1, store.time(System.nanoTime()));
        Fence.release(); // who sees the length sees the rest
        Cursor.set(chunk, place, (long) what << 32 | length);
    }

    /** The process ends: nobody takes requests any more. What is applied by now is also told: this waits for who is at it. */
    synchronized void end() {
        switches = false;
        rows.clear();
        if (taken) {
            file.delete();
        }
    }
}
