package weave.runtime;

/** A hashed table of {@link Sum}s by id. One thread at a time adds to it; another may read it meanwhile. */
final class Sums {
    /** Never written to. */
    static final Sum[] EMPTY = new Sum[1];

    private static final int FIRST = 32;

    /** At most half full. Replaced as a whole when it grows. */
    private volatile Sum[] table = EMPTY;
    private int used;

    /** Where an id is looked for first. The next places follow, around the end. */
    static int place(Sum[] table, int id) {
        int mixed = id * 0x9E37_79B9;
        return (mixed ^ mixed >>> 16) & table.length - 1;
    }

    private static int find(Sum[] table, int id) {
        int at = place(table, id);
        while (table[at] != null && (int) table[at].key != id) {
            at = at + 1 & table.length - 1;
        }
        return at;
    }

    /** An id's sum; null if it has none. */
    Sum get(int id) {
        Sum[] all = table;
        return all[find(all, id)];
    }

    /** Takes one of an id that has none. */
    void add(Sum sum) {
        Sum[] all = table;
        if (2 * used >= all.length || all == EMPTY) {
            Sum[] next = new Sum[Math.max(FIRST, 2 * all.length)];
            for (Sum one : all) {
                if (one != null) {
                    next[find(next, (int) one.key)] = one;
                }
            }
            all = next;
        }
        Fence.release(); // who sees it sees what is in it
        all[find(all, (int) sum.key)] = sum;
        used++;
        table = all;
    }

    /** The table, to be read. */
    Sum[] all() {
        return table;
    }

    boolean isEmpty() {
        return table == EMPTY;
    }
}
