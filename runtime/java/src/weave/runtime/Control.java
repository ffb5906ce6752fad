package weave.runtime;

import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.LongBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;

/**
 * What is switched while the program runs: what {@code weave control} asks for lies in a file beside the trace, which the
 * supplier's thread looks at. What came of it goes into the trace, in chunks that stay. Only the library's own threads come here.
 */
final class Control {
    /** The longest until a request is seen; and that soon after another. */
    private static final long PAUSE = 500_000_000L;
    private static final long SHORT_PAUSE = 20_000_000L;
    private static final long SOON = 10_000_000_000L;
    static final String SUFFIX = ".control";

    private static final String HEAD = "weave control 1";
    private static final int MOST = 60_000;
    /** The most methods that can be switched. */
    private static final int MOST_METHODS = 1 << 22;
    /** So many chunks may tell of changes. */
    private static final int MOST_CHUNKS = 16;
    /** What an entry of a chunk says, beside what is on. */
    private static final int SUMMED = 1;
    private static final int COUNTED = 2;
    private static final int AGAIN = 3;
    private static final int LEFT = 4;
    /** The most methods in one. */
    private static final int MOST_TOLD = 8_000;
    /** Microseconds beyond which a call is told by itself, where no rule says them. */
    private static final int USUAL = 1_000;
    private static final String[] LEVELS = {"error", "info", "debug"};

    private final Store store;
    private final File file;
    private final Budget budget;
    private final ArrayList<Ids.Row> rows = new ArrayList<Ids.Row>();
    private int methods;
    private byte[] seen = new byte[0];
    private int number;

    private int level;
    private String mode = "rules";
    private Set<String> enabled = new HashSet<String>();
    private Set<String> disabled = new HashSet<String>();

    /** When the table of modes was made anew. */
    private volatile long applied;
    private volatile boolean switches;

    private LongBuffer chunk;
    private int chunks;
    private int at;

    Control(Store store) {
        this.store = store;
        this.level = Modes.LEVEL;
        file = new File(store.path().getPath() + SUFFIX);
        budget = new Budget(store);
    }

    /** How long until {@link #look} may have something to do, in nanoseconds. */
    long pause() {
        if (!switches) {
            return Long.MAX_VALUE;
        }
        long pause = number > 0 && System.nanoTime() - applied < SOON ? SHORT_PAUSE : PAUSE;
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
            note(); // what it began with
            switches = true;
            store.wake();
        }
    }

    /** Takes a request if there is a new one. */
    synchronized void look() {
        byte[] bytes = rows.isEmpty() ? null : read();
        if (bytes == null || Arrays.equals(bytes, seen)) {
            return;
        }
        seen = bytes;
        String[] lines = new String(bytes, StandardCharsets.UTF_8).split("\n");
        if (lines.length < 3 || !lines[0].equals(HEAD) || !lines[1].equals("to " + store.settings.pid + " " + store.wallClock)
                || !lines[2].startsWith("number ")) {
            return; // of an earlier run, or of a later version
        }
        int next;
        try {
            next = Integer.parseInt(lines[2].substring("number ".length()));
        } catch (NumberFormatException wrong) {
            return;
        }
        if (next <= number) {
            return;
        }
        boolean all = mode.equals("auto");
        boolean again = false;
        mode = "rules";
        enabled = new HashSet<String>();
        disabled = new HashSet<String>();
        for (String line : lines) {
            int space = line.indexOf(' ');
            String rest = line.substring(space + 1);
            switch (space < 0 ? "" : line.substring(0, space)) {
                case "level":
                    level = level(rest, level);
                    break;
                case "mode":
                    mode = rest;
                    break;
                case "enable":
                    enabled.add(rest);
                    break;
                case "disable":
                    disabled.add(rest);
                    break;
                default:
                    again |= line.equals("reset");
            }
        }
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
        number = next;
        store.header.setRequest(next);
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

    private byte[] read() {
        long length = file.length();
        if (length == 0 || length > MOST) {
            return null;
        }
        byte[] bytes = new byte[(int) length];
        try {
            InputStream in = new FileInputStream(file);
            try {
                int n = 0;
                for (int more; n < bytes.length && (more = in.read(bytes, n, bytes.length - n)) > 0;) {
                    n += more;
                }
                return n == bytes.length ? bytes : null;
            } finally {
                in.close();
            }
        } catch (IOException gone) {
            return null;
        }
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
        byte[] next = Modes.room(methods);
        int shared = 0;
        for (Ids.Row row : rows) {
            int now = mode(row);
            for (int i = 0; i < row.count; i++) {
                int id = row.first + i;
                shared += Modes.put(next, id, mode(now, id)) ? 0 : 1;
            }
        }
        long[] exact = Modes.exactRoom(shared == 0 ? 0 : methods);
        for (Ids.Row row : shared == 0 ? new ArrayList<Ids.Row>() : rows) {
            int now = mode(row);
            for (int i = 0; i < row.count; i++) {
                int id = row.first + i;
                if (next[id & next.length - 1] == Modes.SHARED) {
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
        for (String name : enabled) {
            text.append("enable ").append(name).append('\n');
        }
        for (String name : disabled) {
            text.append("disable ").append(name).append('\n');
        }
        note(0, text.toString().getBytes(StandardCharsets.UTF_8));
    }

    /** Adds an entry to the trace. */
    private void note(int what, byte[] bytes) {
        long[] words = new long[(bytes.length + 7) / 8];
        Format.pack(bytes, 0, bytes.length, words, 0);
        try {
            // One word stays: zero ends the entries.
            if (chunk == null || at + 2 + words.length >= Format.CHUNK_WORDS) {
                LongBuffer next = chunks == MOST_CHUNKS ? null : store.kept(Format.CONTROL, chunks);
                if (next == null) {
                    return;
                }
                chunk = next;
                chunks++;
                at = Format.CHUNK_HEAD_WORDS;
            }
            for (int i = 0; i < words.length; i++) {
                Cursor.set(chunk, at + 2 + i, words[i]);
            }
            Cursor.set(chunk, at + 1, store.time(System.nanoTime()));
            Fence.release(); // who sees the length sees the rest
            Cursor.set(chunk, at, (long) what << 32 | bytes.length);
            at += 2 + words.length;
        } catch (InternalError gone) {
            store.fault();
            Cursor.settle();
        }
    }

    /** The process ends: nobody takes requests any more. */
    void end() {
        if (number > 0) {
            file.delete();
        }
    }
}
