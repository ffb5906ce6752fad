package weave.runtime;

/**
 * What becomes of calls of methods that can be switched, from now on. {@link Switched} looks here by the method's id, and {@link Control}
 * says what is on. Several ids may fall into one place: where they differ, an exact table decides.
 */
final class Modes {
    /** Nothing is known of the method yet: its own code says what its rules do. */
    static final int UNKNOWN = 0;
    static final int OFF = 1;
    /** On, as the method's code says. */
    static final int RULES = 2;
    static final int RECORD = 3;
    static final int AGGREGATE = 4;
    static final int COUNT = 5;
    /** Of several methods, which differ. */
    static final int SHARED = 6;

    private static final int LEAST = 1 << 12;
    private static final int MOST = 1 << 20;

    /** Aspects up to this level are on from the start. */
    static final int LEVEL = Settings.startLevel();

    /** Replaced as a whole. */
    private static volatile long[] exact = new long[2];
    /** Of volatile reads compilers know that what is read next may have changed. */
    private static volatile boolean change;

    private Modes() {}

    /**
     * The mode of a method. A loop looks again each time. Under {@code auto} it does without more: such methods are recorded at first, so
     * machine code of theirs has the call, behind which nothing is known.
     */
    static int of(int as, int id) {
        if ((as & Switched.AUTO) == 0) {
            boolean again = change;
        }
        try {
            return Table.MODES[id & Table.LAST];
        } catch (Error poisoned) {
            return SHARED; // all of them, as room() says
        }
    }

    /** So many places has the table: no more than a small part of the heap. */
    static int places() {
        return Switch.COLLECTIBLE ? 1 : Integer.highestOneBit((int) Math.max(LEAST, Math.min(MOST, Runtime.getRuntime().maxMemory() >>> 8)));
    }

    /** The mode of a method whose place is {@link #SHARED}. */
    static int exactly(int id) {
        long[] all = exact;
        for (int at = place(all, id);; at = at + 1 & all.length - 1) {
            long entry = all[at];
            if (entry == 0) {
                return UNKNOWN;
            }
            if ((int) entry == id) {
                return (int) (entry >>> 32);
            }
        }
    }

    private static int place(long[] all, int id) {
        int mixed = id * 0x9E37_79B9;
        return (mixed ^ mixed >>> 15) & all.length - 1;
    }

    /** What the table is made in: all of it unknown. */
    static byte[] room() {
        try {
            return new byte[Table.LAST + 1];
        } catch (LinkageError poisoned) {
            return new byte[] {SHARED};
        }
    }

    /** Whether the exact table decides about a method: also where it did until now, since a hook may be on its way. */
    static boolean isShared(byte[] next, int id) {
        return next[id & next.length - 1] == SHARED || next.length > 1 && Table.MODES[id & Table.LAST] == SHARED;
    }

    /** Puts a method into what becomes the table. */
    static void put(byte[] all, int id, int mode) {
        int at = id & all.length - 1;
        byte there = all[at];
        all[at] = (byte) (there != UNKNOWN && there != mode ? SHARED : mode);
    }

    /** A table of so many methods of shared places. */
    static long[] exactRoom(int methods) {
        return new long[Integer.highestOneBit(Math.max(1, methods)) << 2];
    }

    static void putExactly(long[] all, int id, int mode) {
        int at = place(all, id);
        while (all[at] != 0 && (int) all[at] != id) {
            at = at + 1 & all.length - 1;
        }
        all[at] = (long) mode << 32 | id & 0xFFFF_FFFFL;
    }

    static void use(byte[] next, long[] shared) {
        exact = shared; // first: who sees that a place is shared finds it there
        if (next.length > 1) {
            System.arraycopy(next, 0, Table.MODES, 0, next.length);
        }
        change = true;
    }
}
