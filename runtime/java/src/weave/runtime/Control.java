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
    private static final String[] LEVELS = {"error", "info", "debug"};

    private final Store store;
    private final File file;
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
    }

    /** How long until {@link #look} may have something to do, in nanoseconds. */
    long pause() {
        if (!switches) {
            return Long.MAX_VALUE;
        }
        return number > 0 && System.nanoTime() - applied < SOON ? SHORT_PAUSE : PAUSE;
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
            }
        }
        apply();
        note();
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

    /** Has hooks do what is on from now. */
    private void apply() {
        applied = System.nanoTime();
        byte[] next = Modes.room(methods);
        int shared = 0;
        for (Ids.Row row : rows) {
            int now = mode(row);
            for (int i = 0; i < row.count; i++) {
                shared += Modes.put(next, row.first + i, now) ? 0 : 1;
            }
        }
        long[] exact = Modes.exactRoom(shared == 0 ? 0 : methods);
        for (Ids.Row row : shared == 0 ? new ArrayList<Ids.Row>() : rows) {
            int now = mode(row);
            for (int i = 0; i < row.count; i++) {
                int id = row.first + i;
                if (next[id & next.length - 1] == Modes.SHARED) {
                    Modes.putExactly(exact, id, now);
                }
            }
        }
        Modes.use(next, exact);
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
        byte[] bytes = text.toString().getBytes(StandardCharsets.UTF_8);
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
            Cursor.set(chunk, at, bytes.length);
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
