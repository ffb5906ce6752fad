package weave.runtime;

import java.nio.LongBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;

/**
 * How much is recorded of methods of which the program itself decides that ({@code mode = "auto"}). What is called too often, and is short,
 * goes from being recorded to being summed up, what is still too dear then to being counted, and what is even so to nothing. It never goes back.
 * Nothing is asked of hooks: what they have written is looked at. The supplier's thread alone comes here, held by {@link Control}.
 */
final class Budget {
    /** Between two looks, and after one that came to a decision. */
    private static final long PAUSE = 100_000_000L;
    private static final long SHORT_PAUSE = 20_000_000L;
    /** The process is to have had so much CPU between two looks: its clock has coarse steps. After so long a look comes without. */
    private static final long LEAST_CPU = 40_000_000L;
    private static final long LONGEST = 1_000_000_000L;
    /** The fewest chunks that tell something, and the most that are read in one look. */
    private static final int FEWEST = 8;
    private static final int MOST = 16;
    /** What is left is to stay below the rate for a while. */
    private static final double ROOM = 0.7;
    /** The least part of the rate that is allowed, however full the trace is. */
    private static final double LEAST = 0.01;
    /** What a record costs, summing up a call, and counting it, and the share of the process's CPU that all of either may take. */
    private static final double RECORD_COST = 30e-9;
    private static final double COST = 50e-9;
    private static final double COUNT_COST = 5e-9;
    private static final double SHARE = 0.016;
    /** Methods whose calls took so many nanoseconds on average since the last look keep their sums, unless a rule says what all may take. */
    private static final long WORTHWHILE = 20_000;

    private final Store store;
    /** Records a second; 0 for any number. */
    private final long rate;
    /** What rules allow, as a part of the program's own CPU; 0 where none says it. */
    private double overhead;
    /** How many nanoseconds a call of a method may take that is told no more by itself. Of methods that this is about. */
    final IdMap slower = new IdMap();
    /** {@link Modes#AGGREGATE}, {@link Modes#COUNT} or {@link Modes#OFF}, of methods that are no longer recorded. */
    final IdMap decided = new IdMap();
    /** Calls that were summed up, their time, and those that were counted, as they were at the last look. */
    private final IdMap before = new IdMap();
    private final IdMap timesBefore = new IdMap();
    private final IdMap countedBefore = new IdMap();

    /** What threads that live have counted and summed up, at this look. */
    private final ArrayList<Tally> tallies = new ArrayList<Tally>();
    private final ArrayList<Sums> tables = new ArrayList<Sums>();

    private final Sample sample = new Sample();
    private long looked = System.nanoTime();
    /** Seconds of CPU that the process had between the last two looks; of time where nobody tells its CPU. */
    private double time;
    /** Its CPU time at the last look, and when chunks were looked at; 0 where nobody tells it. */
    private long spent;
    private long spentThen;
    /** The last chunk that was looked at, and when. */
    private long serial;
    private long tallied = looked;
    private boolean soon;

    Budget(Store store) {
        this.store = store;
        rate = store.settings.rate;
    }

    /** A rule allows so many thousandths of the program's CPU: the least of them counts. */
    void allow(int thousandths) {
        double part = thousandths / 1e3;
        overhead = overhead == 0 ? part : Math.min(overhead, part);
    }

    /** The share of the process's CPU that each of what is recorded, summed up and counted may take: what a rule says is a part of the rest. */
    private double share() {
        return overhead == 0 ? SHARE : overhead / (1 + overhead) / 3;
    }

    /** How long until a look, in nanoseconds. */
    long pause() {
        return rate == 0 && overhead == 0 || slower.size() == 0 ? Long.MAX_VALUE : soon ? SHORT_PAUSE : PAUSE;
    }

    void reset() {
        decided.clear();
        before.clear();
        timesBefore.clear();
        countedBefore.clear();
    }

    /** Begins a look, if it is time for one. */
    boolean look() {
        long now = System.nanoTime();
        if (now - looked < pause()) {
            return false;
        }
        time = (now - looked) / 1e9;
        long used = Meter.cpuTime();
        if (used > 0 && spent > 0) {
            if (used - spent < LEAST_CPU && now - looked < LONGEST) {
                return false;
            }
            time = Math.max(used - spent, LEAST_CPU / 4) / 1e9;
        }
        spent = used;
        looked = now;
        soon = false;
        tallies.clear();
        tables.clear();
        store.live(tallies, tables);
        return true;
    }

    /** The methods that are to be summed up from now on, ascending. */
    int[] tooMany() {
        long last = store.serial();
        long chunks = last - serial;
        if (chunks < FEWEST) {
            return new int[0];
        }
        double all = chunks * (Format.CHUNK_WORDS - Format.CHUNK_HEAD_WORDS) / ((looked - tallied) / 1e9);
        long from = serial;
        serial = last;
        // Of a process that has a part of a processor as much is allowed as that part.
        double cpu = spent > 0 && spentThen > 0 ? (spent - spentThen) / (double) Math.max(1, looked - tallied) : 1;
        spentThen = spent;
        tallied = looked;
        // The fuller the trace, the less: what was recorded is to stay in it.
        double allowed = rate == 0 ? Double.MAX_VALUE : rate * Math.max(LEAST, store.room() * Math.min(1, cpu));
        if (overhead != 0) {
            allowed = Math.min(allowed, share() * cpu / RECORD_COST);
        }
        if (all <= allowed) {
            return new int[0];
        }
        ArrayList<LongBuffer> full = new ArrayList<LongBuffer>();
        store.latest(full, MOST, from);
        sample.clear();
        for (LongBuffer chunk : full) {
            sample.add(chunk);
        }
        soon = true;
        ArrayList<long[]> candidates = new ArrayList<long[]>();
        for (int i = 0; i < sample.ids.length; i++) {
            long calls = sample.calls[i];
            int id = sample.ids[i];
            if (calls != 0 && !decided.has(id) && sample.time[i] / calls < slower.get(id, 0)) {
                candidates.add(new long[] {calls, id});
            }
        }
        // Two records a call.
        return most(candidates, 2 * all / Math.max(1, sample.records), all - ROOM * allowed, Modes.AGGREGATE);
    }

    /** The methods that are to be counted from now on, ascending. */
    int[] tooDear() {
        IdMap calls = new IdMap();
        IdMap times = new IdMap();
        for (Sums table : tables) {
            for (Sum sum : table.all()) {
                if (sum != null && decided.get((int) sum.key, 0) == Modes.AGGREGATE) {
                    int id = (int) sum.key;
                    calls.put(id, calls.get(id, 0) + Tally.whole(sum.words, Sum.CALLS));
                    times.put(id, times.get(id, 0) + Tally.whole(sum.words, Sum.TOTAL));
                }
            }
        }
        ArrayList<long[]> candidates = new ArrayList<long[]>();
        long all = 0;
        for (Sums table : tables) {
            for (Sum sum : table.all()) {
                int id = sum == null ? 0 : (int) sum.key;
                long sumOf = sum == null ? -1 : calls.get(id, -1);
                if (sumOf < 0) {
                    continue;
                }
                calls.put(id, -1); // once
                long news = Math.max(0, sumOf - before.get(id, 0));
                before.put(id, sumOf);
                long took = times.get(id, 0) - timesBefore.get(id, 0);
                timesBefore.put(id, times.get(id, 0));
                boolean dear = overhead != 0 || took / Math.max(1, news) < WORTHWHILE;
                all += dear ? news : 0;
                if (news > 0 && dear) {
                    candidates.add(new long[] {news, id});
                }
            }
        }
        int[] found = most(candidates, 1, all - share() * time / COST, Modes.COUNT);
        soon |= found.length > 0;
        return found;
    }

    /** The methods whose calls are not even counted from now on, ascending. */
    int[] hopeless() {
        Tally sum = new Tally();
        for (Tally one : tallies) {
            one.addTo(sum);
        }
        ArrayList<long[]> candidates = new ArrayList<long[]>();
        long all = 0;
        long[] cells = sum.cells();
        for (int i = 0; i < cells.length; i += 2) {
            int id = (int) cells[i];
            long what = decided.get(id, 0);
            if (what == 0 && cells[i + 1] != 0 && slower.has(id) && !countedBefore.has(id)) {
                countedBefore.put(id, cells[i + 1]); // its code has it counted, or somebody had: what comes from now on matters
            } else if (cells[i + 1] != 0 && (what == Modes.COUNT || what == 0 && slower.has(id))) {
                long news = Math.max(0, cells[i + 1] - countedBefore.get(id, 0));
                countedBefore.put(id, cells[i + 1]);
                all += news;
                candidates.add(new long[] {news, id});
            }
        }
        int[] found = most(candidates, 1, all - share() * time / COUNT_COST, Modes.OFF);
        soon |= found.length > 0;
        return found;
    }

    /** Decides about those with most calls, until what they have more than enough is gone. */
    private int[] most(ArrayList<long[]> candidates, double each, double tooMany, int mode) {
        if (tooMany <= 0) {
            return new int[0];
        }
        Collections.sort(candidates, new java.util.Comparator<long[]>() {
            @Override
            public int compare(long[] a, long[] b) {
                return a[0] != b[0] ? Long.compare(b[0], a[0]) : Long.compare(a[1], b[1]);
            }
        });
        int[] ids = new int[candidates.size()];
        int n = 0;
        for (; n < ids.length && tooMany > 0; n++) {
            ids[n] = (int) candidates.get(n)[1];
            tooMany -= candidates.get(n)[0] * each;
            decided.put(ids[n], mode);
        }
        ids = Arrays.copyOf(ids, n);
        Arrays.sort(ids);
        return ids;
    }
}
