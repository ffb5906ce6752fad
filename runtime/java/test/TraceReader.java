import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** A reader of the format written from its page alone: it shares nothing with the library. */
final class TraceReader {
    /** Where the program had no memory, a map may lack its end: its methods have no names. */
    static boolean mapsMayBeCut;

    record Event(int kind, int id, long time, String type, String message) {}

    /** A value; {@code text} of those that are texts, else {@code word}. */
    record Value(int id, int kind, int flags, int number, String text, long word) {}

    /**
     * A segment; {@code lost} holds, for each LOST escape, the event it precedes and the count; {@code values} what it has of those in front of
     * each event, or of its end; {@code elsewhere} the time that the innermost call has spent in what is summed up, in front of an event;
     * {@code weights} for how many calls an event stands that begins an outermost sampled call.
     */
    record Segment(List<Event> events, List<long[]> lost, Map<Integer, List<Value>> values, Map<Integer, Long> elsewhere, Map<Integer, Integer> weights) {}

    /** What calls add up to that are summed up. */
    record Sum(long calls, long errors, long total, long own, long min, long max, long ended) {}

    static final class LogicalThread {
        String name;
        int flags;
        final TreeMap<Integer, Segment> segments = new TreeMap<>();

        long lost() {
            return segments.values().stream().flatMap(s -> s.lost.stream()).mapToLong(l -> l[1]).sum();
        }

        /** The values in front of each event. */
        List<List<Value>> values() {
            List<List<Value>> all = new ArrayList<>();
            List<Value> before = new ArrayList<>();
            for (Segment s : segments.values()) {
                for (int i = 0; i <= s.events.size(); i++) {
                    before.addAll(s.values.getOrDefault(i, List.of()));
                    if (i < s.events.size()) {
                        all.add(before);
                        before = new ArrayList<>();
                    }
                }
            }
            return all;
        }

        /** Time in recorded calls that was spent in none that they made. */
        long own() {
            long own = 0;
            ArrayList<long[]> open = new ArrayList<>();
            for (Segment s : segments.values()) {
                for (int i = 0; i < s.events.size(); i++) {
                    Event e = s.events.get(i);
                    long[] top = open.isEmpty() ? new long[2] : open.get(open.size() - 1);
                    top[1] += s.elsewhere.getOrDefault(i, 0L);
                    if (e.kind == 1) {
                        open.add(new long[] {e.time, 0});
                        continue;
                    }
                    open.remove(open.size() - 1);
                    own += e.time - top[0] - top[1];
                    check(e.time - top[0] >= top[1], "a call has spent more in others than it took");
                    if (!open.isEmpty()) {
                        open.get(open.size() - 1)[1] += e.time - top[0];
                    }
                }
                // The record that it stands in front of may be in the next segment.
                if (!open.isEmpty()) {
                    open.get(open.size() - 1)[1] += s.elsewhere.getOrDefault(s.events.size(), 0L);
                }
            }
            return own;
        }

        /** The weight of each event that begins an outermost sampled call, else 0. */
        List<Integer> weights() {
            List<Integer> all = new ArrayList<>();
            for (Segment s : segments.values()) {
                for (int i = 0; i < s.events.size(); i++) {
                    all.add(s.weights.getOrDefault(i, 0));
                }
            }
            return all;
        }

        long events() {
            return segments.values().stream().mapToLong(s -> s.events.size()).sum();
        }

        boolean whole() {
            return lost() == 0 && segments.firstKey() == 0 && segments.lastKey() == segments.size() - 1;
        }

        List<Event> all() {
            List<Event> all = new ArrayList<>();
            segments.values().forEach(s -> all.addAll(s.events));
            return all;
        }
    }

    final long size;
    final long pid;
    final int policy;
    final int flags;
    final long lost;
    final long overwritten;
    final long failures;
    final long end;
    final long limit;
    final int limitSetBy;
    final long lostDeep;
    final long lostFailed;
    final long lostOverwritten;
    final String command;
    final String notes;
    final Map<Integer, LogicalThread> threads = new TreeMap<>();
    /** What the process used: values by metric; 0 is the time. */
    final List<TreeMap<Integer, Long>> samples = new ArrayList<>();
    /** By thread: times, and the CPU time so far. */
    final Map<Integer, List<long[]>> cpu = new TreeMap<>();
    final Map<Integer, byte[]> symbols = new TreeMap<>();
    /** Calls of methods that are only counted. */
    final Map<Integer, Long> counts = new TreeMap<>();
    /** Those that are summed up. */
    final Map<Integer, Sum> sums = new TreeMap<>();
    /** What was switched while the program ran: times, and what was on from then. */
    final List<Map.Entry<Long, String>> changes = new ArrayList<>();
    /** What the program has decided itself about methods: 1 summed up, 2 counted; and how often that was taken back. */
    final Map<Integer, Integer> decided = new TreeMap<>();
    int again;
    /** Methods whose calls were not even counted for a while. */
    final java.util.Set<Integer> leftOut = new java.util.TreeSet<>();
    /** Calls that are in the sums and told by themselves as well, by method: those that returned, and in the high half those that failed. */
    final Map<Integer, Long> slow = new TreeMap<>();
    final boolean controlled;
    /** The number of the last request that was taken. */
    final int request;
    private final Map<Integer, Integer> symbolBytes = new TreeMap<>();
    private long lastSerial;

    TraceReader(Path path) throws Exception {
        this(Files.readAllBytes(path));
    }

    TraceReader(byte[] file) {
        size = file.length;
        ByteBuffer b = ByteBuffer.wrap(file).order(ByteOrder.LITTLE_ENDIAN);
        check(new String(file, 0, 8, StandardCharsets.ISO_8859_1).equals("WTRACE\r\n"), "file magic");
        check(b.getShort(8) == 1 && b.getShort(10) == 0 && b.getInt(12) == 65536, "version, chunk size");
        check(Math.abs(b.getLong(16) / 1_000_000 - System.currentTimeMillis()) < 600_000, "wall clock");
        pid = b.getLong(24);
        limit = b.getLong(40);
        policy = b.getInt(32);
        flags = b.getInt(36);
        check(file.length <= b.getLong(40), "file of " + file.length + " bytes is above its limit");
        lost = b.getLong(48);
        overwritten = b.getLong(56);
        failures = b.getLong(64);
        end = b.getLong(72);
        limitSetBy = b.getInt(8192);
        lostDeep = b.getLong(8200);
        lostFailed = b.getLong(8208);
        lostOverwritten = b.getLong(8256);
        controlled = b.getInt(8264) == 1;
        request = b.getInt(8268);
        check(lostDeep >= 0 && lostFailed >= 0 && lostDeep + lostFailed <= lost, "losses by failures");
        command = new String(file, 84, b.getInt(80), StandardCharsets.UTF_8);
        notes = new String(file, 4100, b.getInt(4096), StandardCharsets.UTF_8);
        TreeMap<Long, Integer> chunks = new TreeMap<>();
        for (int at = 65536; at + 65536 <= file.length; at += 65536) {
            if (b.getInt(at) == 0x4B484357) {
                check(chunks.put(b.getLong(at + 8), at) == null, "serial twice");
            } else {
                check(b.getInt(at) == 0 || b.getInt(at) == 0x45524657, "chunk magic at " + at);
            }
        }
        lastSerial = chunks.isEmpty() ? 0 : chunks.lastKey();
        chunks.values().forEach(at -> chunk(b, at));
        threads.values().removeIf(t -> (t.flags & 4) != 0 && t.events() == 0); // the library's own
        symbols.forEach((map, bytes) -> check(mapsMayBeCut || symbolBytes.get(map) == bytes.length, "symbols map " + map + " incomplete"));
    }

    /** Reads one records chunk into this reader's threads: also for a consumer's copies. */
    void chunk(ByteBuffer b, int at) {
        if (b.getInt(at + 4) == 2) {
            int map = b.getInt(at + 16);
            int used = b.getInt(at + 24);
            byte[] part = new byte[used];
            b.get(at + 32, part);
            symbolBytes.merge(map, used, Integer::sum);
            byte[] all = symbols.computeIfAbsent(map, m -> new byte[b.getInt(at + 28)]);
            System.arraycopy(part, 0, all, b.getInt(at + 20) * (65536 - 32), used);
            return;
        }
        if (b.getInt(at + 4) == 3) {
            check(b.getInt(at + 20) == 0, "a chunk with counts has no part");
            for (int p = at + 32; p < at + 65536 && b.getLong(p) != 0; p += 16) {
                check(b.getInt(p + 4) == 0, "an id");
                check(counts.put(b.getInt(p), b.getLong(p + 8)) == null, "counts of an id twice");
            }
            return;
        }
        if (b.getInt(at + 4) == 4) {
            check(b.getInt(at + 20) == 0, "a chunk with sums has no part");
            for (int p = at + 32; p < at + 65536 && b.getLong(p) != 0;) {
                int first = b.get(p + 4) & 0xFF;
                int buckets = b.getInt(p + 5) & 0xFFFFFF;
                check(buckets > 0 && first + buckets <= 160 && p + 8 * (7 + buckets) <= at + 65536, "an entry's buckets");
                long[] words = new long[7 + buckets];
                b.slice(p, 8 * words.length).order(ByteOrder.LITTLE_ENDIAN).asLongBuffer().get(words);
                long ended = Arrays.stream(words, 7, words.length).sum();
                Sum sum = new Sum(words[1], words[2], words[3], words[4], words[5], words[6], ended);
                sums.merge(b.getInt(p), sum, (one, other) -> one.calls > other.calls ? one : other);
                p += 8 * words.length;
            }
            return;
        }
        if (b.getInt(at + 4) == 5) {
            check(b.getInt(at + 20) == 0, "a chunk with changes has no part");
            for (int p = at + 32; p < at + 65536 && b.getLong(p) != 0;) {
                int length = (int) b.getLong(p);
                int what = b.getInt(p + 4);
                check(what >= 0 && what <= 4 && length >= 0 && p + 16 + length <= at + 65536, "a change's length");
                check(what == 3 ? length == 0 : length > 0, "a change says something");
                byte[] data = new byte[length];
                b.get(p + 16, data);
                if (what == 0) {
                    changes.add(Map.entry(b.getLong(p + 8), new String(data, StandardCharsets.UTF_8)));
                } else if (what == 3) {
                    again++;
                    decided.clear();
                } else {
                    check(length % 4 == 0, "a list of methods");
                    for (int i = 0; i < length; i += 4) {
                        Integer before = decided.put(b.getInt(p + 16 + i), what);
                        if (what == 4) {
                            leftOut.add(b.getInt(p + 16 + i));
                        }
                        // What its code has counted is left out at once.
                        check(before == null ? what == 1 || what == 4 : before == 1 && what == 2 || before == 2 && what == 4, "from recorded to summed up to counted to nothing");
                    }
                }
                p += 16 + (length + 7) / 8 * 8;
            }
            return;
        }
        check(b.getInt(at + 4) == 1, "chunk kind");
        LogicalThread thread = threads.computeIfAbsent(b.getInt(at + 16), n -> new LogicalThread());
        Segment segment = segment(thread, b.getInt(at + 20));
        long clock = b.getLong(at + 24);
        String type = null;
        String message = null;
        for (int p = at + 32; p < at + 65536; p += 8) {
            long word = b.getLong(p);
            if (word == 0) {
                break;
            }
            int argument = (int) (word >>> 32);
            if ((word & 3) != 0) {
                clock += word >>> 2 & 0x3FFFFFFF;
                segment.events.add(new Event((int) word & 3, argument, clock, type, message));
                type = message = null;
                continue;
            }
            int payload = (int) (word >>> 8) & 0xFFFFFF;
            switch ((int) (word >>> 2) & 0x3F) {
                case 1 -> clock = b.getLong(p + 8);
                case 2 -> {
                    thread = threads.computeIfAbsent(argument, n -> new LogicalThread());
                    segment = segment(thread, (int) b.getLong(p + 8));
                    clock = b.getLong(p + 16);
                    check(payload == 2, "SEGMENT payload");
                }
                case 3 -> {
                    LogicalThread named = threads.get(argument);
                    check(named == thread, "THREAD names the current thread");
                    named.flags = b.getInt(p + 8);
                    named.name = text(b, p + 16, b.getInt(p + 12));
                }
                case 4 -> {
                    int n = b.getInt(p + 8);
                    type = text(b, p + 16, n);
                    message = text(b, p + 16 + n, b.getInt(p + 12));
                }
                case 5 -> segment.lost.add(new long[] {segment.events.size(), b.getLong(p + 8)});
                case 8 -> {
                    TreeMap<Integer, Long> sample = new TreeMap<>(Map.of(0, b.getLong(p + 8)));
                    for (int i = 2; i <= payload; i++) {
                        check(sample.put(b.get(p + 8 * i) & 0xFF, b.getLong(p + 8 * i) >>> 8) == null, "metric twice");
                    }
                    samples.add(sample);
                }
                case 11 -> {
                    check(payload == 2, "CPU has " + payload + " words");
                    cpu.computeIfAbsent(argument, n -> new ArrayList<>()).add(new long[] {b.getLong(p + 8), b.getLong(p + 16)});
                }
                case 9 -> {
                    int kind = b.get(p + 8) & 0xFF;
                    int length = b.getInt(p + 12);
                    int words = kind >= 8 ? (2 * length + 7) / 8 : kind == 1 ? 0 : 1;
                    check(kind >= 1 && kind <= 10 && payload == 1 + words, "VALUE of kind " + kind + " has " + payload + " words");
                    byte[] text = new byte[kind >= 8 ? 2 * length : 0];
                    b.get(p + 16, text);
                    segment.values.computeIfAbsent(segment.events.size(), n -> new ArrayList<>()).add(new Value(argument, kind,
                        b.get(p + 9) & 0xFF, b.getShort(p + 10) & 0xFFFF, new String(text, StandardCharsets.UTF_16LE),
                        kind < 8 && words == 1 ? b.getLong(p + 16) : 0));
                }
                case 10 -> segment.elsewhere.merge(segment.events.size(), b.getLong(p + 8), Long::sum);
                case 12 -> {
                    check(payload == 2, "a slow call has two words");
                    slow.merge((int) (word >>> 32), b.getLong(p + 16) < 0 ? 1L << 32 : 1L, Long::sum);
                }
                case 13 -> {
                    check(payload == 1 && b.getLong(p + 8) >= 1 && b.getLong(p + 8) < 1 << 24, "a call stands for so many");
                    check(p + 16 < at + 65536, "a sampled call begins in the chunk that says so");
                    long next = b.getLong(p + 16);
                    if ((next & 3) == 1 && (int) (next >>> 32) == argument) {
                        segment.weights.put(segment.events.size(), (int) b.getLong(p + 8));
                    } else {
                        check((next & 3) == 0, "a sampled call begins right where that is said, or is lost");
                    }
                }
                case 14 -> check(payload == 5, "SPAN payload");
                case 15 -> check(payload == 4, "CONTEXT payload");
                case 6 -> check(payload == 0 && (p + 8 >= at + 65536 || b.getLong(p + 8) == 0), "END ends the data");
                default -> check(false, "escape " + (word >>> 2 & 0x3F) + " at " + p);
            }
            p += 8 * payload;
            check(p < at + 65536, "escape within its chunk");
        }
    }

    private static Segment segment(LogicalThread thread, int number) {
        Segment segment = new Segment(new ArrayList<>(), new ArrayList<>(), new TreeMap<>(), new TreeMap<>(), new TreeMap<>());
        check(thread.segments.put(number, segment) == null, "segment " + number + " twice");
        return segment;
    }

    private static String text(ByteBuffer b, int at, int length) {
        check(length >= 0 && length <= 1000, "text of " + length + " bytes");
        byte[] bytes = new byte[length];
        b.get(at, bytes);
        String text = new String(bytes, StandardCharsets.UTF_8);
        check(Arrays.equals(text.getBytes(StandardCharsets.UTF_8), bytes), "text is UTF-8");
        return text;
    }

    long events() {
        return threads.values().stream().mapToLong(LogicalThread::events).sum();
    }

    long lostInThreads() {
        return threads.values().stream().mapToLong(LogicalThread::lost).sum();
    }

    LogicalThread named(String name) {
        return threads.values().stream().filter(t -> name.equals(t.name)).findFirst().orElseThrow(
            () -> new AssertionError("no thread " + name));
    }

    /** Checks that a whole thread's records pair up and that its time does not go back; returns the calls still open. */
    static int balanced(LogicalThread thread) {
        check(thread.whole(), "thread " + thread.name + " is whole");
        ArrayList<Integer> open = new ArrayList<>();
        long last = 0;
        for (Event e : thread.all()) {
            check(e.time >= last, "time goes back in " + thread.name);
            last = e.time;
            if (e.kind == 1) {
                open.add(e.id);
            } else {
                check(!open.isEmpty() && open.remove(open.size() - 1) == e.id, "unbalanced: " + thread.name + " " + e);
            }
        }
        return open.size();
    }

    void allBalanced() {
        threads.values().forEach(t -> check(balanced(t) == 0, t.name + " has open calls"));
    }

    static void check(boolean holds, String what) {
        if (!holds) {
            throw new AssertionError(what.length() > 600 ? what.substring(0, 600) + "..." : what);
        }
    }
}
