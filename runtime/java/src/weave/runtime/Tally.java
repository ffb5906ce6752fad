package weave.runtime;

/**
 * How often methods were called that are only counted: a hashed table of ids, each with its count behind it. One thread at a
 * time adds to it; another may read it meanwhile.
 */
final class Tally {
    /** Has no place for anything: what is counted in it comes to {@link #add}. Never written to. */
    static final long[] EMPTY = new long[2];
    /** Beside an id: whether the trace will have its name is still to be asked. */
    static final long UNASKED = 1L << 32;

    private static final int FIRST = 64;

    /** At most half full. Replaced as a whole when it grows. */
    private volatile long[] cells = EMPTY;
    private int used;

    /** Where an id is looked for first. The next places follow, around the end. */
    static int place(long[] cells, int id) {
        int mixed = id * 0x9E37_79B9;
        return (mixed ^ mixed >>> 16) & cells.length - 2;
    }

    /** The count of an id: its place is this and the one behind; the id's place is 0 if it has none. */
    private static int find(long[] cells, int id) {
        int at = place(cells, id);
        while (cells[at] != 0 && (int) cells[at] != id) {
            at = at + 2 & cells.length - 2;
        }
        return at;
    }

    /** Adds to an id's count; returns the table that has it now. */
    long[] add(int id, long count, boolean asked) {
        long[] table = cells;
        int at = find(table, id);
        if (table[at] == 0) {
            if (4 * used >= table.length || table == EMPTY) {
                table = grow();
                at = find(table, id);
            }
            used++;
        }
        table[at + 1] += count;
        Fence.release(); // who sees the id sees its count
        table[at] = id & 0xFFFF_FFFFL | (asked ? 0 : UNASKED);
        return table;
    }

    private long[] grow() {
        long[] old = cells;
        long[] next = new long[Math.max(FIRST, 2 * old.length)];
        for (int i = 0; i < old.length; i += 2) {
            if (old[i] != 0) {
                int at = find(next, (int) old[i]);
                next[at + 1] = old[i + 1];
                next[at] = old[i];
            }
        }
        cells = next;
        return next;
    }

    /** The table, to be read. */
    long[] cells() {
        return cells;
    }

    /** What an id's count is, or 0. */
    long count(int id) {
        long[] table = cells;
        return table[find(table, id) + 1];
    }

    boolean isEmpty() {
        return cells == EMPTY;
    }

    /** Sets all counts to 0. The ids keep their places. */
    void clear() {
        long[] table = cells;
        for (int i = 1; i < table.length; i += 2) {
            table[i] = 0;
        }
    }

    /** Adds all counts to another's. */
    void addTo(Tally sum) {
        long[] table = cells;
        for (int i = 0; i < table.length; i += 2) {
            if (table[i] != 0) {
                sum.add((int) table[i], whole(table, i + 1), true);
            }
        }
    }

    /** Reads a count that another thread adds to. Where a long takes two reads it may change between them. */
    static long whole(long[] table, int at) {
        long before;
        long now = table[at];
        do {
            before = now;
            now = table[at];
        } while (now - before >>> 31 != 0);
        return now;
    }
}
