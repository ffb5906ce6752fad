package weave.runtime;

import java.nio.LongBuffer;

/** What lies in some chunks of records: how often methods were called, and for how long. */
final class Sample {
    /** A power of two. Half as many methods have a place; those that come later are rare. */
    private static final int PLACES = 1 << 13;
    private static final int DEEPEST = 1_024;

    final int[] ids = new int[PLACES];
    final long[] calls = new long[PLACES];
    /** Of calls that lie beyond a chunk, the part within. */
    final long[] time = new long[PLACES];
    private int used;
    /** Enters, exits and errors. */
    long records;

    private final int[] open = new int[DEEPEST];
    private final long[] since = new long[DEEPEST];

    void clear() {
        java.util.Arrays.fill(calls, 0);
        java.util.Arrays.fill(time, 0);
        used = 0;
        records = 0;
    }

    /** Adds a chunk. It may be taken for something else meanwhile: what is read then makes no sense, and does no harm. */
    void add(LongBuffer chunk) {
        long begin = chunk.get(3);
        long now = begin;
        int depth = 0;
        for (int i = Format.CHUNK_HEAD_WORDS; i < Format.CHUNK_WORDS; i++) {
            long word = chunk.get(i);
            if (word == 0) {
                break;
            }
            int kind = (int) word & 3;
            if (kind == 0) {
                int type = (int) word >>> 2 & 63;
                if (type == Format.TIME && i + 1 < Format.CHUNK_WORDS) {
                    now = chunk.get(i + 1);
                } else if (type == Format.SEGMENT && i + 2 < Format.CHUNK_WORDS) {
                    // Another thread.
                    depth = ends(depth, now);
                    now = chunk.get(i + 2);
                    begin = now;
                }
                i += (int) word >>> 8;
                continue;
            }
            now += word >>> 2 & (1L << Format.GAP_BITS) - 1;
            int id = (int) (word >>> 32);
            records++;
            if (kind == Format.ENTER) {
                if (depth < DEEPEST) {
                    open[depth] = id;
                    since[depth] = now;
                }
                depth++;
            } else if (depth == 0) {
                add(id, now - begin);
            } else if (--depth < DEEPEST) {
                add(open[depth], now - since[depth]);
            }
        }
        ends(depth, now);
    }

    private int ends(int depth, long now) {
        for (int i = Math.min(depth, DEEPEST) - 1; i >= 0; i--) {
            add(open[i], now - since[i]);
        }
        return 0;
    }

    private void add(int id, long took) {
        int mixed = id * 0x9E37_79B9;
        int at = (mixed ^ mixed >>> 15) & PLACES - 1;
        while (calls[at] != 0 && ids[at] != id) {
            at = at + 1 & PLACES - 1;
        }
        if (calls[at] == 0) {
            if (2 * used >= PLACES) {
                return;
            }
            used++;
            ids[at] = id;
        }
        calls[at]++;
        time[at] += Math.max(0, took);
    }
}
