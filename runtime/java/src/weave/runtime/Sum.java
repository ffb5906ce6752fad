package weave.runtime;

/**
 * What the calls of a method add up to, as far as they are of one thread. That thread alone writes to it; another may read it
 * meanwhile.
 */
final class Sum {
    /** Places in {@link #words}. Calls count when they begin, the rest when they end. */
    static final int CALLS = 0;
    static final int ERRORS = 1;
    static final int TOTAL = 2;
    static final int OWN = 3;
    static final int MIN = 4;
    static final int MAX = 5;
    static final int ENDED = 6;
    /** The number of the first bucket, which is in the place behind this. */
    static final int LOW = 7;
    static final int HEAD = 8;

    /** Four buckets for each power of two of nanoseconds; the last has all that is longer. */
    static final int BUCKETS = 160;
    /** Buckets come in so many at once. */
    private static final int STEP = 8;
    private static final int MOST_TOLD = 1_000;
    static final long SECOND = 1_000_000_000L;
    /** The most memory that one takes, in bytes. */
    static final int COST = 8 * (HEAD + BUCKETS) + 128;

    /** The method's id; {@link Tally#UNASKED} beside it. */
    long key;
    /** Calls that are open; where threads share it, that is not known. */
    int open;
    /** Replaced as a whole when it grows. Not volatile: who reads it may see that a second later. */
    long[] words;
    /** SLOW escapes of this second, which began at {@link #since}: 0 if there was none yet. */
    private int told;
    private long since;
    /** What {@link #turns} was when {@link Aggregates} looked last. By that alone. */
    long seen;

    Sum(int id) {
        key = id & 0xFFFF_FFFFL;
        words = fresh(0, 0);
    }

    private static long[] fresh(int low, int buckets) {
        long[] words = new long[HEAD + buckets];
        words[MIN] = Long.MAX_VALUE;
        words[LOW] = low;
        return words;
    }

    /** The bucket of a duration: exact below 4 ns, within an eighth of its middle above. */
    static int bucket(long ns) {
        if (ns < 4) {
            return (int) ns;
        }
        int power = 63 - Long.numberOfLeadingZeros(ns);
        return Math.min(BUCKETS - 1, 4 * (power - 1) + ((int) (ns >>> power - 2) & 3));
    }

    /** Whether the thread may write one more SLOW escape of this method in this second. */
    boolean tells(long now) {
        if (since == 0 || now - since >= SECOND) {
            since = now;
            told = 0;
        }
        if (told >= MOST_TOLD) {
            return false;
        }
        told++;
        return true;
    }

    /** A call begins. */
    void begin() {
        words[CALLS]++;
        open++;
    }

    /** A call is over; whether none of its method is open around it. */
    boolean close() {
        return --open == 0;
    }

    /** What it was. */
    void end(long took, long own, boolean failed, boolean outermost) {
        int bucket = bucket(took);
        long[] all = words;
        int at = bucket - (int) all[LOW];
        if (at < 0 || at >= all.length - HEAD) {
            all = widen(bucket, bucket + 1);
            at = bucket - (int) all[LOW];
        }
        all[HEAD + at]++;
        all[OWN] += own;
        if (outermost) {
            all[TOTAL] += took;
        }
        if (failed) {
            all[ERRORS]++;
        }
        if (took < all[MIN]) {
            all[MIN] = took;
        }
        if (took > all[MAX]) {
            all[MAX] = took;
        }
        all[ENDED]++;
    }

    /** Has the buckets from one to before another. */
    private long[] widen(int from, int until) {
        long[] old = words;
        int count = old.length - HEAD;
        int low = from / STEP * STEP;
        int high = Math.min(BUCKETS, (until + STEP - 1) / STEP * STEP);
        if (count > 0) {
            low = Math.min(low, (int) old[LOW]);
            high = Math.max(high, (int) old[LOW] + count);
        }
        long[] next = fresh(low, high - low);
        System.arraycopy(old, 0, next, 0, LOW);
        System.arraycopy(old, HEAD, next, HEAD + (count > 0 ? (int) old[LOW] - low : 0), count);
        Fence.release(); // who sees it sees what is in it
        words = next;
        return next;
    }

    /** Changes with every begin and end. */
    long turns() {
        long[] all = words;
        return Tally.whole(all, CALLS) + Tally.whole(all, ENDED);
    }

    /** Adds all to another's. */
    void addTo(Sum other) {
        long[] from = words;
        int low = (int) from[LOW];
        int count = from.length - HEAD;
        long[] to = other.words;
        if (count > 0 && (low < to[LOW] || low + count > to[LOW] + to.length - HEAD)) {
            to = other.widen(low, low + count);
        }
        for (int i = CALLS; i <= OWN; i++) {
            to[i] += Tally.whole(from, i);
        }
        to[ENDED] += Tally.whole(from, ENDED);
        to[MIN] = Math.min(to[MIN], Tally.whole(from, MIN));
        to[MAX] = Math.max(to[MAX], Tally.whole(from, MAX));
        for (int i = 0; i < count; i++) {
            to[HEAD + i + low - (int) to[LOW]] += Tally.whole(from, HEAD + i);
        }
    }
}
