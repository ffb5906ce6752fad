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
    private static final int MOST = 1 << 22;

    /** Aspects up to this level are on from the start. */
    static final int LEVEL = Settings.startLevel();

    /** Both are replaced as a whole. Volatile, so that a loop looks again; what is seen late does no harm. */
    private static volatile byte[] table = new byte[1];
    private static volatile long[] exact = new long[2];

    private Modes() {}

    static int of(int id) {
        byte[] all = table;
        return all[id & all.length - 1];
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

    /** A table for so many methods. */
    static byte[] room(int methods) {
        return new byte[Math.max(LEAST, Math.min(MOST, Integer.highestOneBit(Math.max(1, methods)) << 4))];
    }

    /** Puts a method into a table; false if another is there that differs. */
    static boolean put(byte[] all, int id, int mode) {
        int at = id & all.length - 1;
        byte there = all[at];
        if (there != UNKNOWN && there != mode) {
            all[at] = SHARED;
            return false;
        }
        all[at] = (byte) mode;
        return true;
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
        table = next;
    }
}
