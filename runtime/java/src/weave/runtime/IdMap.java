package weave.runtime;

import java.util.Arrays;

/** Numbers by the ids of methods. One thread at a time. */
final class IdMap {
    private int[] ids = new int[64];
    private long[] numbers = new long[64];
    private boolean[] there = new boolean[64];
    private int used;

    /** The number of an id; {@code other} if it has none. */
    long get(int id, long other) {
        int at = find(id);
        return there[at] ? numbers[at] : other;
    }

    boolean has(int id) {
        return there[find(id)];
    }

    void put(int id, long number) {
        int at = find(id);
        if (!there[at]) {
            if (2 * used >= ids.length) {
                grow();
                at = find(id);
            }
            there[at] = true;
            ids[at] = id;
            used++;
        }
        numbers[at] = number;
    }

    int size() {
        return used;
    }

    void clear() {
        Arrays.fill(there, false);
        used = 0;
    }

    private int find(int id) {
        int mask = ids.length - 1;
        int mixed = id * 0x9E37_79B9;
        int at = (mixed ^ mixed >>> 15) & mask;
        while (there[at] && ids[at] != id) {
            at = at + 1 & mask;
        }
        return at;
    }

    private void grow() {
        int[] oldIds = ids;
        long[] oldNumbers = numbers;
        boolean[] old = there;
        ids = new int[2 * oldIds.length];
        numbers = new long[ids.length];
        there = new boolean[ids.length];
        for (int i = 0; i < old.length; i++) {
            if (old[i]) {
                int at = find(oldIds[i]);
                there[at] = true;
                ids[at] = oldIds[i];
                numbers[at] = oldNumbers[i];
            }
        }
    }
}
