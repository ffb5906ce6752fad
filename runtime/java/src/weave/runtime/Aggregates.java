package weave.runtime;

import java.nio.LongBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The sums of methods that are summed up, in the trace: chunks of their own, which stay, and in which each id has a place where its
 * sum so far is kept up to date. {@link Counts} calls it, and holds its gate meanwhile.
 */
final class Aggregates {
    /** Tables may take so much memory, and an eighth of the heap. */
    private static final long MOST = 128L << 20;
    private static final int HALF = (Format.CHUNK_WORDS - Format.CHUNK_HEAD_WORDS) / 2;
    /** Words of an entry in front of its buckets. */
    private static final int HEAD = 7;
    private static final int MOST_TOLD = 10_000;

    /** Where an id's sum is. */
    private static final class Place {
        /** What dead threads have added, or threads that share it. */
        final Sum past;
        /** Null if there is no room for it. */
        LongBuffer chunk;
        int word;
        int low;
        int buckets;
        /** Its calls, if there is no room for them. */
        long homeless;

        Place(int id) {
            past = new Sum(id);
        }
    }

    private final Store store;
    private final HashMap<Integer, Place> places = new HashMap<Integer, Place>();
    private final AtomicLong room = new AtomicLong(Math.min(MOST, Runtime.getRuntime().maxMemory() / 8));
    /** The chunk for new places, where those begin, and the one that comes next. */
    private LongBuffer chunk;
    private int at;
    private LongBuffer spare;
    private int chunks;
    /** SLOW escapes of this second, of all threads; it began at {@link #since}, which is 0 if there was none yet. */
    private final AtomicInteger told = new AtomicInteger();
    private volatile long since;

    Aggregates(Store store) {
        this.store = store;
    }

    /** Whether a table may have one more sum. */
    boolean take() {
        if (room.addAndGet(-Sum.COST) >= 0) {
            return true;
        }
        room.addAndGet(Sum.COST);
        return false;
    }

    /** Whether a thread may write one more SLOW escape in this second: about so many of all threads. */
    boolean tells(long now) {
        long began = since;
        if (began == 0 || now - began >= Sum.SECOND) {
            since = now;
            told.set(0);
        }
        return told.get() < MOST_TOLD && told.incrementAndGet() <= MOST_TOLD;
    }

    /** Has a chunk before it is needed: there may be none then. */
    void reserve() {
        if (spare == null && (chunk == null || Format.CHUNK_WORDS - at < HALF)) {
            spare = store.kept(Format.AGGREGATES, chunks);
            chunks += spare == null ? 0 : 1;
        }
    }

    /** Writes what has changed: tables of threads that live, and of some that have died. */
    void write(ArrayList<Sums> live, ArrayList<Sums> dead) {
        ArrayList<Integer> changed = new ArrayList<Integer>();
        for (Sums one : dead) {
            for (Sum sum : one.all()) {
                if (sum != null) {
                    sum.addTo(place((int) sum.key).past);
                    room.addAndGet(Sum.COST);
                    changed.add((int) sum.key);
                }
            }
        }
        for (Sums one : live) {
            for (Sum sum : one.all()) {
                if (sum != null && sum.seen != sum.turns()) {
                    sum.seen = sum.turns();
                    changed.add((int) sum.key);
                }
            }
        }
        java.util.Collections.sort(changed);
        Integer last = null;
        for (Integer id : changed) {
            if (id.equals(last)) {
                continue;
            }
            last = id;
            Sum whole = new Sum(id);
            place(id).past.addTo(whole);
            for (Sums one : live) {
                Sum sum = one.get(id);
                if (sum != null) {
                    sum.addTo(whole);
                }
            }
            put(place(id), whole);
        }
    }

    /** Calls that are nowhere in the trace. */
    long homeless() {
        long sum = 0;
        for (Place place : places.values()) {
            sum += place.homeless;
        }
        return sum;
    }

    /** The sum of an id in the trace itself: where no thread of the library's own may be. */
    Sum direct(int id) {
        return place(id).past;
    }

    /** Brings that up to date; false if there is no room for it. */
    boolean put(int id) {
        Place place = place(id);
        put(place, place.past);
        return place.chunk != null;
    }

    private Place place(Integer id) {
        Place place = places.get(id);
        if (place == null) {
            place = new Place(id);
            places.put(id, place);
        }
        return place;
    }

    private void put(Place place, Sum sum) {
        long[] words = sum.words;
        int low = (int) words[Sum.LOW];
        int buckets = words.length - Sum.HEAD;
        boolean fits = place.chunk != null
            && (buckets == 0 || low >= place.low && low + buckets <= place.low + place.buckets);
        LongBuffer to = place.chunk;
        int word = place.word;
        int first = place.low;
        int count = place.buckets;
        if (!fits) {
            if (place.chunk != null) {
                // Twice as many, so that this does not happen often.
                int high = Math.max(low + buckets, first + count);
                first = Math.min(low, first);
                count = Math.min(Sum.BUCKETS - first, Math.max(high - first, 2 * count));
            } else {
                first = buckets == 0 ? 16 : low;
                count = Math.min(Sum.BUCKETS - first, Math.max(buckets, 16));
            }
            if (chunk == null || at + HEAD + count > Format.CHUNK_WORDS) {
                reserve();
                if (spare == null) {
                    place.homeless = place.chunk == null ? words[Sum.CALLS] : 0;
                    return;
                }
                chunk = spare;
                spare = null;
                at = Format.CHUNK_HEAD_WORDS;
            }
            to = chunk;
            word = at;
            at += HEAD + count;
            place.homeless = 0;
        }
        for (int i = 0; i < Sum.ENDED; i++) {
            keep(to, word + 1 + i, i == Sum.MIN && words[Sum.ENDED] == 0 ? 0 : words[i]);
        }
        for (int i = 0; i < buckets; i++) {
            keep(to, word + HEAD + low - first + i, words[Sum.HEAD + i]);
        }
        if (!fits) {
            Fence.release(); // who sees the id sees its sum
            Cursor.set(to, word, (long) count << 40 | (long) first << 32 | sum.key & 0xFFFF_FFFFL);
            place.chunk = to;
            place.word = word;
            place.low = first;
            place.buckets = count;
        }
    }

    private static void keep(LongBuffer chunk, int word, long value) {
        if (chunk.get(word) != value) {
            Cursor.set(chunk, word, value);
        }
    }
}
