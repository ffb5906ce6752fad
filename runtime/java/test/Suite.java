import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.RandomAccessFile;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import weave.runtime.Access;
import weave.runtime.Sql;
import weave.runtime.Urls;

/**
 * Runs each of {@link Programs} in a process of its own and reads what it leaves. The arguments:
 * a scratch folder, part of the name of the tests to run, and how many seconds those take that may be longer.
 * WEAVE_SWITCHES is how often the test under load switches (1,000). WEAVE_TURN=0/2 runs each test on one of two JDKs: the other has 1/2.
 * WEAVE_TEST_OPTIONS are more options of the programs' JVM. WEAVE is the program whose report must read what is left.
 */
public final class Suite {
    private static final int MANY = 600_000;
    private static Path scratch;
    private static String only;
    private static int seconds;
    private static int switches;
    private static int turn;
    private static int turns;
    private static int passed;
    private static int failures;

    interface Case {
        void run(Path folder) throws Exception;
    }

    record Result(int status, String out, String err, long millis) {}

    public static void main(String[] arguments) throws Exception {
        if (System.getenv("WEAVE") == null) {
            throw new IllegalStateException("WEAVE is to name the weave program, whose report must read the traces");
        }
        scratch = Path.of(arguments[0]);
        only = arguments.length > 1 ? arguments[1] : "";
        seconds = arguments.length > 2 ? Integer.parseInt(arguments[2]) : 3;
        String switches = System.getenv("WEAVE_SWITCHES");
        String[] turn = System.getenv().getOrDefault("WEAVE_TURN", "0/1").split("/");
        Suite.turn = Integer.parseInt(turn[0]);
        turns = Integer.parseInt(turn[1]);
        Suite.switches = switches == null || switches.isEmpty() ? 1_000 : Integer.parseInt(switches);
        boolean virtual = Runtime.version().feature() >= 21;
        test("threads", Suite::threads);
        test("exceptions", Suite::exceptions);
        test("long gap", Suite::gap);
        test("ring", Suite::ring);
        test("drop", Suite::drop);
        test("block without a consumer", Suite::blockAlone);
        test("block with a consumer", Suite::blockConsumed);
        test("disk full", Suite::diskFull);
        test("read-only folder", Suite::readOnly);
        test("paths", Suite::paths);
        test("log", Suite::log);
        test("settings", Suite::settings);
        test("texts of requests", Suite::requestTexts);
        test("off", Suite::off);
        test("propagators", Suite::propagators);
        test("sampler", Suite::sampler);
        test("queued", Suite::queued);
        test("databases", Suite::databases);
        test("android", Suite::android);
        test("kill -9 at rest", Suite::killed);
        test("kill -9 at work", Suite::killedAtWork);
        test("20,000 short threads", Suite::shortThreads);
        test("threads in waves, ring", Suite::waves);
        test("cleared thread locals", Suite::forgotten);
        test("interrupted thread", Suite::interrupted);
        test("stack overflow", Suite::overflow);
        test("both ways out in one call", Suite::leaves);
        test("enter and exit in one call", Suite::leaf);
        test("counts", Suite::counts);
        test("counts in a ring", Suite::countsInRing);
        test("counts and kill -9", Suite::countsKilled);
        test("switched, mode by mode", Suite::switchedModes);
        test("switched while calls are open", Suite::switchedOpen);
        test("switched between a value and its call", Suite::switchedValues);
        test("switched at the end of the stack", Suite::switchedDeep);
        test("switched often under load", Suite::switchedOften);
        test("switched in a loop without end", Suite::switchedLoop);
        test("switched methods that are off and come late", Suite::switchedLate);
        test("switched by strangers", Suite::switchedHostile);
        test("level at the start", Suite::switchedLevel);
        test("sampled, tree by tree", Suite::sampled);
        test("sampled anew in each process", Suite::sampledSeed);
        test("sampled while it is switched", Suite::sampledSwitched);
        test("sampled and switched under load", Suite::sampledOften);
        test("sampled by the second", Suite::sampledSecond);
        test("sampled at the end of the stack", Suite::sampledDeep);
        test("what is called too often", Suite::tooOften);
        test("what is called too often for the ring", Suite::tooOftenForTheRing);
        test("what takes more than a rule says", Suite::tooDear);
        test("what a rule allows is kept within two seconds", Suite::kept);
        test("what is straight-line code", Suite::straightLine);
        test("calls that fail all the time", Suite::failing);
        test("sums", Suite::sums);
        test("sums in a ring", Suite::sumsInRing);
        test("sums and kill -9", Suite::sumsKilled);
        test("sums of too many methods", Suite::sumsOfMany);
        test("values", Suite::values);
        test("woven collections", Suite::wovenCollections);
        test("values with locks", Suite::lockedValues);
        test("values at the end of the stack", Suite::valuesOverflow);
        test("own hooks that fail", Suite::guard);
        test("own hooks at the end of the stack", Suite::guardOverflow);
        test("woven host", Suite::wovenHost);
        test("two class loaders", Suite::loaders);
        test("symbols", Suite::symbols);
        test("module path", Suite::module);
        test("interrupts while the file grows", Suite::interruptedGrowth);
        test("no memory while the file grows", Suite::noMemory);
        test("no memory for names", Suite::noMemoryForNames);
        test("no memory for errors", Suite::noMemoryForErrors);
        if (Runtime.version().feature() < 20) {
            always("stopped threads", Suite::stopped);
        }
        test("truncated trace", Suite::truncated);
        test("another file of the trace's name", Suite::planted);
        test("first hook in an overflow", Suite::firstInOverflow);
        test("losses at the end", Suite::lateLosses);
        test("thread numbers beyond 2^31", Suite::manyNumbers);
        test("samples of the process", Suite::samples);
        test("late code", Suite::late);
        test("web application", Suite::webApplication);
        test("limits of containers", Suite::containerLimits);
        test("default limit", Suite::defaultLimit);
        test("patterns, modes, traces to keep", Suite::patterns);
        test("traces to keep of the process's own", Suite::ownTraces);
        test("block and a heartbeat", Suite::blockHeartbeat);
        if (virtual) {
            always("counts in virtual threads", Suite::countsVirtual);
            always("sums in virtual threads", Suite::sumsVirtual);
            always("100,000 virtual threads", Suite::virtualThreads);
            always("virtual threads at full speed", Suite::mixed);
            always("virtual threads, drop", Suite::mixedDrop);
        }
        System.out.println(passed + " passed, " + failures + " failed");
        if (failures > 0 || passed == 0) {
            System.exit(1);
        }
    }

    private static void test(String name, Case body) throws Exception {
        if (Math.floorMod(name.hashCode(), turns) == turn) {
            always(name, body);
        }
    }

    /** A test that only this JDK can run, so that it has no turn. */
    private static void always(String name, Case body) throws Exception {
        if (!name.contains(only)) {
            return;
        }
        Path folder = Files.createTempDirectory(scratch, "case");
        long start = System.nanoTime();
        String verdict = "ok";
        try {
            body.run(folder);
            report(folder);
            passed++;
        } catch (Throwable t) {
            failures++;
            verdict = "FAILED";
            t.printStackTrace(System.out);
        }
        System.out.printf("%-32s %s (%d ms)%n", name, verdict, (System.nanoTime() - start) / 1_000_000);
        try (Stream<Path> all = Files.walk(folder)) {
            all.sorted((a, b) -> b.compareTo(a)).forEach(p -> p.toFile().delete());
        }
    }

    /** The traces that a test leaves must be readable, and be said to be a program's. */
    private static void report(Path folder) throws Exception {
        List<Path> traces;
        try (Stream<Path> all = Files.walk(folder)) {
            traces = all.filter(p -> p.toString().endsWith(".wtrace") && p.toFile().length() > 65_536).toList();
        }
        for (Path trace : traces) {
            Path out = folder.resolve("report");
            Process process = new ProcessBuilder(System.getenv("WEAVE"), "report", "--limit", "5", trace.toString())
                .redirectErrorStream(true).redirectOutput(out.toFile()).start();
            check(process.waitFor() == 0, "weave report " + trace + ": " + Files.readString(out));
            check(Files.readString(out).contains(" calls"), Files.readString(out));
        }
    }

    private static ProcessBuilder command(Path folder, String program, String... options) {
        List<String> command = new ArrayList<>(List.of(System.getProperty("java.home") + "/bin/java", "-cp",
            System.getProperty("java.class.path")));
        String more = System.getenv("WEAVE_TEST_OPTIONS");
        if (more != null) {
            command.addAll(List.of(more.split(" ")));
        }
        if (Stream.of(options).noneMatch(o -> o.startsWith("-Dweave.trace=") || o.equals("default"))) {
            command.add("-Dweave.trace=" + folder + "/t.wtrace");
        }
        command.addAll(Stream.of(options).filter(o -> !o.equals("default")).toList());
        command.add("Programs");
        command.add(program);
        ProcessBuilder builder = new ProcessBuilder(command).directory(folder.toFile());
        builder.redirectOutput(folder.resolve("out").toFile()).redirectError(folder.resolve("err").toFile());
        return builder;
    }

    private static Result finish(Path folder, ProcessBuilder builder) throws Exception {
        Result r = end(folder, builder);
        check(r.status == 0 && r.out.endsWith("done\n"), "the program failed: " + r);
        return r;
    }

    /** Runs a program to its end, whatever that is. */
    private static Result end(Path folder, ProcessBuilder builder) throws Exception {
        long start = System.nanoTime();
        Process process = builder.start();
        // Some start 100,000 threads, on machines that may be busy with other things.
        if (!process.waitFor(240 + seconds, TimeUnit.SECONDS)) {
            process.destroyForcibly();
            throw new AssertionError("the program hangs");
        }
        long millis = (System.nanoTime() - start) / 1_000_000;
        return new Result(process.exitValue(), Files.readString(folder.resolve("out")),
            Files.readString(folder.resolve("err")), millis);
    }

    /** Runs a program that has nothing to complain about. */
    private static TraceReader run(Path folder, String program, String... options) throws Exception {
        Result r = finish(folder, command(folder, program, options));
        check(r.err.isEmpty(), "unexpected: " + r.err);
        return new TraceReader(folder.resolve("t.wtrace"));
    }

    private static void check(boolean holds, String what) {
        TraceReader.check(holds, what);
    }

    private static void equal(Object expected, Object actual, String what) {
        check(expected.equals(actual), what + ": expected " + expected + ", found " + actual);
    }

    private static void threads(Path folder) throws Exception {
        TraceReader t = run(folder, "threads");
        t.allBalanced();
        equal(2 * 300_000L + 2_000, t.events(), "records");
        equal(3, t.threads.size(), "threads");
        equal(300_000L, t.named("α").events(), "records of the thread α");
        equal(2, t.named("b".repeat(200)).flags, "flags of a daemon");
        equal(2_000L, t.named("main").events(), "records of main");
        equal(1, t.flags, "flags: ended; no symbols");
        equal("Programs threads", t.command, "command");
        check(t.lost == 0 && t.failures == 0 && t.overwritten == 0, "nothing lost");
        long last = t.named("main").all().get(1_999).time();
        check(t.end >= last, "end " + t.end + " is behind the last record " + last);
    }

    /** What the methods of {@code Programs.counted} come to. */
    private static Map<Integer, Long> counts(long n) {
        return new java.util.TreeMap<>(Map.of(1, n, 2, n, -3, n));
    }

    private static void counts(Path folder) throws Exception {
        Map<Integer, Long> expected = counts(100_000 + 8 * 5_000 + 300 * 10);
        for (int id = 1; id <= 6_000; id++) {
            expected.put(id << 16, 8L * Math.min(id, 3));
        }
        for (String sample : List.of("1000", "off")) {
            TraceReader t = run(folder, "counts", "-Dweave.trace.sample=" + sample);
            t.allBalanced();
            equal(expected, t.counts, "counts");
            equal(600L + 2, t.events(), "records");
            check(t.lost == 0 && t.failures == 0, "nothing lost");
            Files.delete(folder.resolve("t.wtrace"));
        }
        finish(folder, command(folder, "counts", "-Dweave.trace=off"));
        check(list(folder).isEmpty(), "no file where tracing is off");
    }

    private static void countsInRing(Path folder) throws Exception {
        for (String policy : List.of("ring", "drop")) {
            TraceReader t = run(folder, "countsAndMany", "-Dweave.trace.limit=512k", "-Dweave.trace.policy=" + policy);
            equal((long) MANY, t.events() + t.lost, "recorded, and lost or overwritten");
            check(t.lost > 0, "the trace is full");
            equal(counts(1_000 + 100 * 10), t.counts, "counts under " + policy);
            Files.delete(folder.resolve("t.wtrace"));
        }
    }

    /** What was counted is in the trace while the process runs, though nothing else happens in it. */
    private static void countsKilled(Path folder) throws Exception {
        Process process = started(folder, "countsAndStays");
        Path trace = folder.resolve("t.wtrace");
        Map<Integer, Long> expected = counts(12_345 + 100);
        for (int i = 0; i < 6_000 && !new TraceReader(trace).counts.equals(expected); i++) {
            Thread.sleep(10);
        }
        process.destroyForcibly().waitFor();
        TraceReader t = new TraceReader(trace);
        equal(expected, t.counts, "counts");
        equal(0, t.flags & 1, "ended in an orderly way");
    }

    /** Calls by id of {@code Programs.summed}: so many rounds in so many calls of it. */
    private static Map<Integer, Long> summed(long times, long... rounds) {
        Map<Integer, Long> calls = new java.util.TreeMap<>(Map.of(6, 20 * times, 10, times));
        for (long n : rounds) {
            long fourths = (n + 3) / 4;
            calls.merge(1, n, Long::sum);
            calls.merge(2, n + fourths, Long::sum);
            calls.merge(5, fourths + (n + 2) / 3, Long::sum);
        }
        return calls;
    }

    private static long[] rounds(long... of) {
        return java.util.stream.IntStream.range(0, of.length / 2).boxed()
            .flatMapToLong(i -> java.util.stream.LongStream.generate(() -> of[2 * i + 1]).limit(of[2 * i])).toArray();
    }

    /** The sums are those of so many calls, of which all have ended but some; and no nanosecond is nobody's, or counted twice. */
    private static void sums(TraceReader t, Map<Integer, Long> calls, int... open) {
        Map<Integer, Long> found = new java.util.TreeMap<>();
        t.sums.forEach((id, sum) -> found.put(id, sum.calls()));
        equal(calls, found, "calls");
        long own = t.threads.values().stream().mapToLong(TraceReader.LogicalThread::own).sum();
        for (Map.Entry<Integer, TraceReader.Sum> e : t.sums.entrySet()) {
            TraceReader.Sum sum = e.getValue();
            boolean isOpen = java.util.Arrays.stream(open).anyMatch(id -> id == e.getKey());
            equal(isOpen ? 0L : sum.calls(), sum.ended(), "calls of " + e.getKey() + " that ended");
            check(sum.min() <= sum.max() && sum.total() <= sum.max() * sum.ended() && sum.total() >= sum.min(), "times of " + e.getKey() + ": " + sum);
            own += sum.own();
        }
        equal(t.sums.get(10).total(), own, "own times");
        check(t.sums.get(6).total() < t.sums.get(6).max() * t.sums.get(10).calls() + 1, "only the outermost of recursive calls is in the total");
    }

    private static void sums(Path folder) throws Exception {
        long[] rounds = rounds(1, 20_000, 8, 1_000, 100, 12);
        Map<Integer, Long> expected = summed(109, rounds);
        expected.merge(10, 1L, Long::sum);
        expected.putAll(Map.of(8, 1L, 9, 1L, 7, 65_535L));
        long n = java.util.Arrays.stream(rounds).sum();
        for (String sample : List.of("1000", "off")) {
            TraceReader t = run(folder, "sums", "-Dweave.trace.sample=" + sample);
            t.allBalanced();
            sums(t, expected, 9);
            equal(java.util.Arrays.stream(rounds).map(r -> (r + 2) / 3).sum(), t.sums.get(5).errors(), "errors");
            equal(Map.of(11, n, 7, 70_000L - 65_535), t.counts, "counts");
            equal(java.util.Arrays.stream(rounds).map(r -> (r + 3) / 4 * 4).sum() + 2, t.events(), "records");
            check(t.lost == 0 && t.failures == 0, "nothing lost");
            Files.delete(folder.resolve("t.wtrace"));
        }
        finish(folder, command(folder, "sums", "-Dweave.trace=off"));
        check(list(folder).isEmpty(), "no file where tracing is off");
    }

    private static void sumsInRing(Path folder) throws Exception {
        for (String policy : List.of("ring", "drop")) {
            TraceReader t = run(folder, "sumsAndMany", "-Dweave.trace.limit=512k", "-Dweave.trace.policy=" + policy);
            equal((long) MANY + 120, t.events() + t.lost, "recorded, and lost or overwritten");
            check(t.lost > 0, "the trace is full");
            Map<Integer, Long> expected = summed(1, 120);
            expected.merge(1, 100L, Long::sum);
            Map<Integer, Long> found = new java.util.TreeMap<>();
            t.sums.forEach((id, sum) -> found.put(id, sum.ended()));
            equal(expected, found, "sums under " + policy);
            Files.delete(folder.resolve("t.wtrace"));
        }
    }

    private static void sumsKilled(Path folder) throws Exception {
        Process process = started(folder, "sumsAndStays");
        Path trace = folder.resolve("t.wtrace");
        for (int i = 0; i < 6_000; i++) {
            TraceReader.Sum sum = new TraceReader(trace).sums.get(10);
            if (sum != null && sum.ended() == 2) {
                break;
            }
            Thread.sleep(10);
        }
        process.destroyForcibly().waitFor();
        TraceReader t = new TraceReader(trace);
        sums(t, summed(2, 1_200, 120));
        equal(0, t.flags & 1, "ended in an orderly way");
    }

    /** What has no memory for its sums is counted, and nothing is lost. */
    private static void sumsOfMany(Path folder) throws Exception {
        TraceReader t = run(folder, "sumsOfMany", "-Xmx64m");
        check(t.sums.size() > 1_000 && t.sums.size() < 20_000, t.sums.size() + " methods are summed up");
        for (int id = 1; id <= 20_000; id++) {
            long calls = t.sums.containsKey(id) ? t.sums.get(id).ended() : t.counts.getOrDefault(id, 0L);
            equal(2L, calls, "calls of " + id);
        }
        check(t.lost == 0 && t.failures == 0, "nothing lost");
    }

    private static void sumsVirtual(Path folder) throws Exception {
        TraceReader t = run(folder, "sumsVirtual");
        t.allBalanced();
        Map<Integer, Long> expected = summed(501, rounds(500, 40, 1, 8));
        expected.merge(10, 500L, Long::sum);
        expected.put(8, 1_000L);
        sums(t, expected);
        check(t.lost == 0 && t.failures == 0, "nothing lost");
    }

    private static void countsVirtual(Path folder) throws Exception {
        TraceReader t = run(folder, "countsVirtual");
        equal(counts(2_000 * 100 + 7), t.counts, "counts");
        check(t.lost == 0 && t.failures == 0, "nothing lost");
    }

    private static void exceptions(Path folder) throws Exception {
        TraceReader t = run(folder, "exceptions");
        t.allBalanced();
        List<TraceReader.Event> errors =
            t.named("main").all().stream().filter(e -> e.kind() == 3).toList();
        List<String> described = errors.stream().filter(e -> e.type() != null).map(e -> {
            String message = e.message().length() > 40 ? e.message().length() + " chars" : e.message();
            return e.type() + ":" + message + "@" + e.id();
        }).toList();
        int cut = 1_000 / 9 * 3 + 0; // 111 times 9 bytes are 999; "ä" does not fit behind them
        equal(List.of("java.lang.RuntimeException:a@1", "java.lang.RuntimeException:" + (cut + 111) + " chars@1",
            "java.lang.RuntimeException:a@1", "java.lang.Error:@1", "Programs$Unruly:recorded@1", "Programs$Unruly:@1",
            "Programs$Unruly:@1"), described, "descriptions");
        equal(5 + 2 + 2 + 2 + 4L, (long) errors.size(), "errors");
        check(t.named("main").all().stream().noneMatch(e -> e.id() == 77), "what getMessage calls is not recorded");
        // A hook that the endless getMessage calls may fail where the stack ends, before it knows that it would not have
        // recorded. It counts itself as lost, and as failed.
        check(t.lost <= 10 && t.lost == t.failures, "lost " + t.lost + ", failures " + t.failures);
    }

    private static void gap(Path folder) throws Exception {
        TraceReader t = run(folder, "gap");
        t.allBalanced();
        List<TraceReader.Event> all = t.named("main").all();
        long took = all.get(1).time() - all.get(0).time();
        check(took >= 1_200_000_000L && took < 60_000_000_000L, "1.2 s were " + took);
    }

    private static void samples(Path folder) throws Exception {
        // So seldom that none comes by chance between the last record and the end.
        TraceReader t = run(folder, "busy", "-Dweave.trace.sample=300");
        t.allBalanced();
        equal(1, t.threads.size(), "the library's own thread is none of the program's");
        check(t.samples.size() >= 4, t.samples.size() + " samples");
        for (int i = 0; i < t.samples.size(); i++) {
            Map<Integer, Long> sample = t.samples.get(i);
            check(sample.keySet().containsAll(Set.of(1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 14)), "metrics " + sample.keySet());
            // Used and committed memory are not read in one moment: a collection may come between.
            check(sample.get(2) > 10_000_000 && sample.get(3) > 0 && sample.get(4) > 0, "memory " + sample);
            check(sample.get(7) >= 3 && sample.get(12) > 300, "threads and classes " + sample);
            for (int grows : i == 0 ? new int[0] : new int[] {0, 1, 5, 6, 11, 13, 14}) {
                check(sample.get(grows) >= t.samples.get(i - 1).get(grows), "metric " + grows + " shrinks");
            }
        }
        Map<Integer, Long> first = t.samples.get(0);
        Map<Integer, Long> last = t.samples.get(t.samples.size() - 1);
        check(last.get(1) - first.get(1) > 1_000_000, "CPU time grows: " + first + last);
        check(last.get(5) > first.get(5), "collections are counted: " + first + last);
        long ended = t.named("main").all().stream().mapToLong(TraceReader.Event::time).max().orElseThrow();
        check(last.get(0) >= ended, "the last sample is of the process's end: " + last.get(0) + " of " + ended);
        TraceReader.LogicalThread named = t.named("main");
        int main = t.threads.keySet().stream().filter(n -> t.threads.get(n) == named).findFirst().orElseThrow();
        equal(Set.of(main), t.cpu.keySet(), "threads with CPU time");
        long used = 0;
        for (long[] reading : t.cpu.get(main)) {
            check(reading[1] > used && reading[1] <= last.get(1), "CPU time of main after " + used + ": " + reading[1] + " of " + last.get(1));
            used = reading[1];
        }
        check(used > 1_000_000, "CPU time of main: " + used);
        Files.delete(folder.resolve("t.wtrace"));
        TraceReader off = run(folder, "busy", "-Dweave.trace.sample=off");
        equal(List.of(), off.samples, "samples when off");
        equal(Set.of(), off.cpu.keySet(), "CPU times when off");
    }

    private static void ring(Path folder) throws Exception {
        TraceReader t = run(folder, "many", "-Dweave.trace.limit=512k");
        check(t.size <= 512 << 10 && t.overwritten > 50, "size " + t.size + ", overwritten " + t.overwritten);
        equal((long) MANY, t.events() + t.lost, "recorded and overwritten");
        equal(t.lost, t.lostOverwritten, "lost where the ring overwrote it");
        TraceReader.LogicalThread main = t.named("main");
        equal(main.segments.size(), main.segments.lastKey() - main.segments.firstKey() + 1, "the newest segments");
        List<TraceReader.Event> all = main.all();
        equal(1, all.get(all.size() - 1).id(), "the last record");
        // The smallest file: maps may have two of its chunks, or none.
        for (int[] size : new int[][] {{50_000, 3}, {70_000, 3}, {150_000, 1}}) {
            Files.write(Files.createDirectories(folder.resolve("META-INF/weave")).resolve("symbols"), map(size[0], 1, 2, -3));
            Files.delete(folder.resolve("t.wtrace"));
            t = run(folder, "many", "-cp", System.getProperty("java.class.path") + ":" + folder, "-Dweave.trace.limit=256k");
            equal(262_144L, t.size, "size");
            equal((long) MANY, t.events() + t.lost, "recorded and overwritten");
            check(t.events() > 2_000, "the newest are kept: " + t.events());
            equal(size[1], t.flags, "flags with a map of " + size[0]);
        }
    }

    private static void drop(Path folder) throws Exception {
        TraceReader t = run(folder, "many", "-Dweave.trace.limit=512k", "-Dweave.trace.policy=drop");
        equal(1, t.policy, "policy");
        equal((long) MANY, t.events() + t.lost, "recorded and lost");
        equal(t.lost, t.lostInThreads(), "LOST escapes against the header");
        equal(0L, t.lostOverwritten, "overwritten");
        check(t.events() > 50_000 && t.overwritten == 0, "the oldest records are kept");
        List<TraceReader.Event> all = t.named("main").all();
        equal(List.of(1, 2, -3), all.subList(0, 3).stream().map(TraceReader.Event::id).toList(), "the first records");
        // More threads than chunks.
        Files.delete(folder.resolve("t.wtrace"));
        t = run(folder, "crowd", "-Dweave.trace.limit=256k", "-Dweave.trace.policy=drop");
        equal(8 * 600L, t.events() + t.lost, "recorded and lost");
        equal(3, t.threads.size(), "threads that found a chunk");
        equal(3 * 600L, t.events(), "records of those");
    }

    private static void blockAlone(Path folder) throws Exception {
        Result r = finish(folder, command(folder, "many", "-Dweave.trace.limit=512k", "-Dweave.trace.policy=block",
            "-Dweave.trace.block=2000"));
        // Once a chunk would be 140 s and more.
        check(r.millis >= 2_000 && r.millis < 100_000, "waited once: " + r.millis);
        TraceReader t = new TraceReader(folder.resolve("t.wtrace"));
        equal((long) MANY, t.events() + t.lost, "recorded and lost");
        check(t.lost > 0 && t.policy == 2, "lost, policy");
    }

    /** This process is the consumer: it copies each chunk that ends with an END escape and gives it back. */
    private static void blockConsumed(Path folder) throws Exception {
        Process process = command(folder, "many", "-Dweave.trace.limit=512k", "-Dweave.trace.policy=block",
            "-Dweave.trace.block=20000").start();
        List<byte[]> copies = new ArrayList<>();
        Path path = folder.resolve("t.wtrace");
        long start = System.nanoTime();
        while (process.isAlive() && System.nanoTime() - start < 120_000_000_000L) {
            Thread.sleep(2);
            if (!Files.exists(path) || Files.size(path) < 512 << 10) {
                continue;
            }
            try (RandomAccessFile file = new RandomAccessFile(path.toFile(), "rw")) {
                MappedByteBuffer map = file.getChannel().map(FileChannel.MapMode.READ_WRITE, 0, file.length());
                map.order(ByteOrder.LITTLE_ENDIAN);
                for (int at = 65536; at < map.capacity(); at += 65536) {
                    if (map.getInt(at) == 0x4B484357 && map.getInt(at + 4) == 1 && ends(map, at)) {
                        byte[] copy = new byte[65536];
                        map.get(at, copy);
                        copies.add(copy);
                        map.putInt(at, 0x45524657);
                    }
                }
            }
        }
        check(process.waitFor(60, TimeUnit.SECONDS), "the program hangs");
        TraceReader t = new TraceReader(path);
        equal(0L, t.lost, "lost");
        check(copies.size() > 60, "consumed " + copies.size());
        for (byte[] copy : copies) {
            t.chunk(ByteBuffer.wrap(copy).order(ByteOrder.LITTLE_ENDIAN), 0);
        }
        equal((long) MANY, t.events(), "records");
        t.allBalanced();
    }

    private static boolean ends(ByteBuffer b, int chunk) {
        for (int p = chunk + 32; p < chunk + 65536; p += 8) {
            long word = b.getLong(p);
            if (word == 6 << 2) {
                return true;
            }
            if (word == 0) {
                return false;
            }
            if ((word & 3) == 0) {
                p += 8 * ((int) (word >>> 8) & 0xFFFFFF);
            }
        }
        return false;
    }

    private static boolean system(String... command) throws Exception {
        return new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .start().waitFor() == 0;
    }

    private static void diskFull(Path folder) throws Exception {
        Path disk = Files.createDirectory(folder.resolve("disk"));
        if (!system("mount", "-t", "tmpfs", "-o", "size=2m", "none", disk.toString())) {
            throw new AssertionError("a small disk to fill cannot be mounted (test.sh makes a namespace for it)");
        }
        try {
            for (String policy : List.of("ring", "drop", "block")) {
                Result r = finish(folder, command(folder, "many", "-Dweave.trace=" + disk + "/t.wtrace",
                    "-Dweave.trace.limit=1g", "-Dweave.trace.block=100", "-Dweave.trace.policy=" + policy));
                TraceReader t = new TraceReader(disk.resolve("t.wtrace"));
                equal((long) MANY, t.events() + t.lost, "recorded and lost, " + policy);
                check(t.size > 1 << 20 && t.lost > 0, "it used what there was: " + t.size);
                equal(policy.equals("ring") ? t.lost : 0L, t.lostOverwritten, "overwritten, " + policy);
                check(r.err.lines().count() == 1 && r.err.contains("cannot grow: "), r.err);
                Files.delete(disk.resolve("t.wtrace"));
            }
            Files.write(disk.resolve("fill"), new byte[(2 << 20) - 8_192]);
            Result r = finish(folder, command(folder, "many", "-Dweave.trace=" + disk + "/t.wtrace",
                "-Dweave.trace.limit=1g"));
            check(r.err.matches("weave: cannot write the trace .*: No space left on device; the program runs on without"
                + " it\n"), r.err);
            check(!Files.exists(disk.resolve("t.wtrace")), "no empty file is left");
        } finally {
            system("umount", "-l", disk.toString());
        }
    }

    private static void readOnly(Path folder) throws Exception {
        Path disk = Files.createDirectory(folder.resolve("disk"));
        if (!system("mount", "-t", "tmpfs", "-o", "ro,size=1m", "none", disk.toString())) {
            throw new AssertionError("a disk that is read only cannot be mounted (test.sh makes a namespace for it)");
        }
        try {
            Result r = finish(folder, command(folder, "many", "-Dweave.trace=" + disk, "-Dweave.trace.limit=1g"));
            check(r.err.matches("weave: cannot write the trace .*/weave-\\d+.wtrace: Read-only file system; the program"
                + " runs on without it\n"), r.err);
        } finally {
            system("umount", "-l", disk.toString());
        }
        Files.write(folder.resolve("file"), new byte[1]);
        Result r = finish(folder, command(folder, "one", "-Dweave.trace=" + folder + "/file/x/t.wtrace"));
        check(r.err.matches("weave: cannot write the trace .*\n"), r.err);
        // What is no file is not written to, nor beside.
        for (String device : List.of("/dev/null", folder + "/fifo")) {
            check(device.startsWith("/dev") || system("mkfifo", device), "a FIFO");
            r = finish(folder, command(folder, "one", "-Dweave.trace=" + device));
            equal("weave: no trace is written: " + device + " is not a regular file; WEAVE_TRACE=off does without a trace and"
                + " without this line\n", r.err, "message");
            check(!Files.exists(Path.of(device + "-2")), "nothing beside " + device);
        }
        Files.delete(folder.resolve("fifo"));
    }

    private static void log(Path folder) throws Exception {
        String line = "weave: weave\\.trace\\.policy: .*\n";
        for (String to : new String[] {"stderr", "off", folder + "/log-%p.txt"}) {
            Result r = finish(folder, command(folder, "one", "-Dweave.trace.policy=some", "-Dweave.log=" + to));
            check(r.err.matches(to.equals("stderr") ? line : ""), to + ": " + r.err);
            Files.delete(folder.resolve("t.wtrace"));
        }
        List<Path> files = new ArrayList<>();
        for (java.io.File file : folder.toFile().listFiles((f, name) -> name.endsWith(".txt"))) {
            files.add(file.toPath());
        }
        equal(1, files.size(), "logs");
        check(Files.readString(files.get(0)).matches(line), "its line");
        ProcessBuilder b = command(folder, "one", "-Dweave.trace.policy=some");
        b.environment().put("WEAVE_LOG", files.get(0).toString());
        equal("", finish(folder, b).err, "error stream");
        check(Files.readString(files.get(0)).matches(line + line), "a line behind it");
    }

    private static void paths(Path folder) throws Exception {
        // Missing parents, the number of the process, and no file is overwritten.
        finish(folder, command(folder, "one", "-Dweave.trace=a/b/x-%p.wtrace"));
        List<Path> files = list(folder.resolve("a/b"));
        equal(1, files.size(), "files");
        TraceReader t = new TraceReader(files.get(0));
        equal("x-" + t.pid + ".wtrace", files.get(0).getFileName().toString(), "name");
        run(folder, "one");
        byte[] first = Files.readAllBytes(folder.resolve("t.wtrace"));
        String taken = finish(folder, command(folder, "one")).err;
        equal("", taken, "error stream: nothing is wrong");
        equal("t.wtrace exists, so this run records to t-2.wtrace (%p or %t in WEAVE_TRACE keep runs apart)",
            new TraceReader(folder.resolve("t-2.wtrace")).notes, "a taken name, in the trace's own notes");
        check(Arrays.equals(first, Files.readAllBytes(folder.resolve("t.wtrace"))), "the first file is as it was");
        equal(6L, new TraceReader(folder.resolve("t-2.wtrace")).events(), "records of the second file");
        // The default, and the environment; the property wins.
        Path home = Files.createDirectory(folder.resolve("home"));
        finish(home, command(home, "one", "default"));
        t = new TraceReader(list(home).get(0));
        equal("weave-" + t.pid + ".wtrace", list(home).get(0).getFileName().toString(), "the default name");
        ProcessBuilder b = command(home, "one", "default");
        b.environment().put("WEAVE_TRACE", home + "/sub/");
        finish(home, b);
        equal(1, list(home.resolve("sub")).size(), "files in the folder named by the environment");
        b = command(home, "one", "-Dweave.trace=" + home + "/property.wtrace");
        b.environment().put("WEAVE_TRACE", "off");
        finish(home, b);
        check(Files.exists(home.resolve("property.wtrace")), "the property wins");
        finish(home, command(home, "nothing"));
        check(!Files.exists(home.resolve("t.wtrace")), "a program without hooks leaves no file");
    }

    private static List<Path> list(Path folder) throws Exception {
        try (Stream<Path> all = Files.list(folder)) {
            return all.filter(p -> p.toString().endsWith(".wtrace")).toList();
        }
    }

    /** What rules of requests record of SQL and of addresses has nothing in it that may be secret. */
    private static void requestTexts(Path folder) throws Exception {
        String[][] statements = {
            {"SELECT * FROM t1 WHERE a = 'it''s' AND b=12.5 AND c2 = 7", "SELECT * FROM t1 WHERE a = ? AND b=? AND c2 = ?"},
            {"INSERT INTO t VALUES (-1, 1e5, 0xFF, N'x', NULL)", "INSERT INTO t VALUES (-?, ?, ?, N?, NULL)"},
            {"select \"name\" from t -- secret\n where x in (1,2)", "select ? from t \n where x in (?,?)"},
            {"SELECT $$secret$$, $tag$ se'cret $tag$, $1 /* secret */ FROM t", "SELECT ?, ?, $?  FROM t"},
            {"SELECT 'not closed", "SELECT ?"},
            {"SELECT 'a\\', 'secret' FROM t", "SELECT ?"},
            {"  ", ""},
        };
        for (String[] one : statements) {
            equal(one[1], Sql.sanitized(one[0]), one[0]);
        }
        check(Sql.sanitized(null) == null, "no text");
        check(Sql.sanitized("x".repeat(1 << 20)).length() <= 4_000, "a long text is cut");
        equal("SELECT", Sql.operation(" (select 1"), "the operation");
        equal("WITH", Sql.operation("/* c */ with x as (select 1) select 2"), "the operation behind a comment");
        check(Sql.operation("'x'") == null, "no operation");
        check(Sql.operation("x".repeat(100)) == null, "a word of any length is no operation");
        equal("orders", Sql.collection("SELECT a FROM orders WHERE b = 'FROM x'"), "the table");
        equal("shop.orders", Sql.collection("update shop.orders set a = 1"), "a table with its schema");
        check(Sql.collection("select * from a join b on a.x = b.x") == null, "several tables are none");
        check(Sql.collection("SHOW x") == null && Sql.collection("") == null, "no table");
        equal("https://shop.acme:8443/a%20b?token=***&***", Urls.clean(URI.create("https://user:secret@shop.acme:8443/a%20b?token=secret&secret")), "an address");
        equal("mailto:***", Urls.clean(URI.create("mailto:secret@acme")), "an address without a path");
        equal(443, Urls.port(URI.create("https://acme/")), "the port of a scheme");
        check(Urls.query(null) == null, "no query");
        equal("/owners/1;jsessionid=***", Urls.path("/owners/1;jsessionid=2F95;v=1"), "a session's id in a path");
        equal("/a;***/b;c=***/d=e", Urls.path("/a;2F95/b;c=1/d=e"), "parameters in a path");
        equal("/a=b", Urls.path("/a=b"), "a path without parameters");
        check(Urls.path(null) == null, "no path");
        equal("http://acme/a;jsessionid=***?b=***", Urls.clean(URI.create("http://acme/a;jsessionid=2F95?b=c")), "an address with a session's id");
        equal("", Urls.clean(URI.create("")), "an empty address");
    }

    private static void settings(Path folder) throws Exception {
        ProcessBuilder b = command(folder, "many", "-Dweave.trace.policy=sometimes");
        b.environment().put("WEAVE_TRACE_LIMIT", "1M");
        Result r = finish(folder, b);
        equal("weave: weave.trace.policy: \"sometimes\" is not ring, drop or block; ring is used\n", r.err, "message");
        equal(1L << 20, new TraceReader(folder.resolve("t.wtrace")).size, "size");
        for (String limit : List.of("128k", "0", "262143")) {
            Files.delete(folder.resolve("t.wtrace"));
            r = finish(folder, command(folder, "many", "-Dweave.trace.limit=" + limit));
            equal("weave: weave.trace.limit: \"" + limit + "\" is below the least, 256k; 256k is used\n", r.err, "message");
            TraceReader t = new TraceReader(folder.resolve("t.wtrace"));
            check(t.size == 262_144 && t.limit == 262_144 && t.events() > 10_000, t.size + " bytes, records: " + t.events());
        }
        for (String limit : List.of("many", "-1", "k", "99999999999g")) {
            Files.delete(folder.resolve("t.wtrace"));
            r = finish(folder, command(folder, "one", "-Dweave.trace.limit=" + limit));
            equal("weave: weave.trace.limit: \"" + limit + "\" is not a size such as 512m; 1g is used\n", r.err, "message");
        }
    }

    private static void propagators(Path folder) throws Exception {
        java.util.Map<String, List<String[]>> cases = new java.util.LinkedHashMap<>();
        for (String line : Files.readAllLines(Path.of("../../tests/programs/requests/propagators.txt"))) {
            String[] parts = line.split(" \\|(?: |$)", -1);
            if (!line.startsWith("#")) {
                cases.computeIfAbsent(parts[0], key -> new ArrayList<>()).add(parts);
            }
        }
        for (String setting : cases.keySet()) {
            List<String[]> own = cases.get(setting);
            Files.write(folder.resolve("cases"), own.stream().map(parts -> parts[1]).toList());
            ProcessBuilder b = command(folder, "propagators");
            if (!setting.equals("default")) {
                b.environment().put("OTEL_PROPAGATORS", setting);
            }
            Result r = finish(folder, b);
            String wrong = "weave: OTEL_PROPAGATORS: \"zipkin\" is not tracecontext, baggage, b3, b3multi, jaeger, xray or none; it is left out\n";
            equal(setting.contains("zipkin") ? wrong : "", r.err, "error stream");
            equal(String.join("\n", own.stream().map(parts -> parts[2]).toList()) + "\ndone\n", r.out, setting);
            Files.delete(folder.resolve("t.wtrace"));
        }
    }

    /** Roots are drawn by their trace's id, in this process and in any other, and what came in goes by its sender. */
    private static void sampler(Path folder) throws Exception {
        String in = "traceparent=00-4bf92f3577b34da6a300000000000000-00f067aa0ba902b7-0";
        String[][] cases = {
            {"parentbased_traceidratio", "0.25", "250", "1", "0", ""},
            {"PARENTBASED_TRACEIDRATIO", "0", "0", "1", "0", ""},
            {"parentbased_always_off", null, "0", "1", "0", ""},
            {"always_off", null, "0", "0", "0", ""},
            {"always_on", null, "1000", "1", "1", ""},
            {"traceidratio", "0.9", "900", "0", "0", ""},
            {"traceidratio", "1e3", "1000", "1", "1", "weave: OTEL_TRACES_SAMPLER_ARG: \"1e3\" is not a number from 0 to 1; 1 is used\n"},
            {"jaeger_remote", null, "1000", "1", "0", "weave: OTEL_TRACES_SAMPLER: \"jaeger_remote\" is not always_on, always_off or "
                + "traceidratio, nor parentbased_ and one of these; parentbased_always_on is used\n"},
        };
        for (String[] one : cases) {
            Files.write(folder.resolve("cases"), List.of(in + "1", in + "0"));
            ProcessBuilder b = command(folder, "sampler");
            b.environment().put("OTEL_TRACES_SAMPLER", one[0]);
            if (one[1] != null) {
                b.environment().put("OTEL_TRACES_SAMPLER_ARG", one[1]);
            }
            Result r = finish(folder, b);
            equal(one[5], r.err, "error stream");
            String[] lines = r.out.split("\n");
            check(Math.abs(Integer.parseInt(lines[0].replaceAll(" .*", "")) - Integer.parseInt(one[2])) < 80 && lines[0].endsWith(" sound"), one[0] + ": " + lines[0]);
            equal(one[3] + " " + one[4], lines[1] + " " + lines[2], one[0]);
            Files.delete(folder.resolve("t.wtrace"));
        }
    }

    private static void off(Path folder) throws Exception {
        finish(folder, command(folder, "noThreadLeft", "-Dweave.trace=OFF",
            "-Xlog:class+load:file=loaded"));
        check(list(folder).isEmpty(), "no file");
        List<String> loaded = Files.readAllLines(folder.resolve("loaded")).stream().filter(l -> l.contains(" weave.runtime.")).map(
            l -> l.replaceAll(".* weave\\.runtime\\.(\\w+) .*", "$1")).toList();
        equal(List.of("Hooks", "On", "Switch", "Settings"), loaded, "classes loaded");
        ProcessBuilder b = command(folder, "noThreadLeft", "default");
        b.environment().put("WEAVE_TRACE", "off");
        finish(folder, b);
        check(list(folder).isEmpty(), "no file");
    }

    private static void android(Path folder) throws Exception {
        // The app's own folder, which is beside its cache, of whichever user of the device.
        Path data = Files.createDirectories(folder.resolve("data/user/10/com.acme.app"));
        String cache = "-Dtest.tmpdir=" + data + "/cache";
        Path files = data.resolve("files");
        finish(folder, command(folder, "android", "default", cache));
        equal(1, list(files).size(), "files in the app's folder");
        TraceReader t = new TraceReader(list(files).get(0));
        equal("weave-" + t.pid + ".wtrace", list(files).get(0).getFileName().toString(), "name");
        check(t.command.endsWith("java"), "the process's name: " + t.command);
        equal(128L << 20, t.limit, "limit");
        equal(60_000L, t.events(), "records");
        // The control file, and the device's property, which wins.
        Path control = files.resolve("weave.properties");
        Files.writeString(control, "weave.trace = off\n");
        finish(folder, command(folder, "android", "default", cache));
        equal(1, list(files).size(), "files when off by the control file");
        finish(folder, command(folder, "android", "default", cache, "-Ddevice.debug.weave.trace=on",
            "-Ddevice.debug.weave.trace.limit=256k"));
        equal(2, list(files).size(), "files when on by the property");
        Files.writeString(control, "weave.trace.limit = \\u12");
        finish(folder, command(folder, "android", "default", cache));
        equal(3, list(files).size(), "files with a broken control file");
        finish(folder, command(folder, "android", "default", cache, "-Ddevice.debug.weave.trace=off"));
        equal(3, list(files).size(), "files when off by the property");
        finish(folder, command(folder, "android", "default", cache, "-Ddevice.debug.weave.trace=" + folder + "/other/"));
        equal(1, list(folder.resolve("other")).size(), "files where the property says");
    }

    private static Process started(Path folder, String program, String... options) throws Exception {
        Process process = command(folder, program, options).redirectOutput(ProcessBuilder.Redirect.PIPE).start();
        String line = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8)).readLine();
        equal("done", line, "output");
        return process;
    }

    private static void killed(Path folder) throws Exception {
        Process process = started(folder, "killed");
        process.destroyForcibly().waitFor();
        TraceReader t = new TraceReader(folder.resolve("t.wtrace"));
        equal(12_345 * 6L, t.named("other").events(), "records of the other thread");
        equal(34_567 * 6L + 1, t.named("main").events(), "records of main");
        equal(1, TraceReader.balanced(t.named("main")), "open calls");
        equal(0, t.flags & 1, "ended in an orderly way");
    }

    private static void killedAtWork(Path folder) throws Exception {
        for (int i = 0; i < 3; i++) {
            Process process = started(folder, "killedAtWork");
            Thread.sleep(20 + 37 * i);
            process.destroyForcibly().waitFor();
            TraceReader t = new TraceReader(folder.resolve("t.wtrace"));
            check(t.events() > 600, "records: " + t.events());
            int open = TraceReader.balanced(t.named("main"));
            check(open >= 1 && open <= 4, "open calls: " + open);
            Files.delete(folder.resolve("t.wtrace"));
        }
    }

    private static void shortThreads(Path folder) throws Exception {
        TraceReader t = run(folder, "shortThreads");
        t.allBalanced();
        equal(20_000, t.threads.size(), "threads");
        equal(20_000 * 12L, t.events(), "records");
        check(t.size <= 16 << 20, "size: " + t.size); // as far as it is mapped
        check(t.threads.values().stream().allMatch(x -> x.name.startsWith("Thread-")), "names");
    }

    private static void waves(Path folder) throws Exception {
        TraceReader t = run(folder, "waves", "-Dweave.trace.limit=1m");
        equal(1_000 * 1_200L, t.events() + t.lost, "recorded, overwritten and lost");
        check(t.failures == 0 && t.overwritten > 0, "failures, overwritten");
    }

    private static void forgotten(Path folder) throws Exception {
        TraceReader t = run(folder, "forgotten");
        t.allBalanced();
        equal(1, t.threads.size(), "threads");
        equal(6_000L, t.events(), "records");
    }

    private static void interrupted(Path folder) throws Exception {
        TraceReader t = run(folder, "interrupted");
        t.allBalanced();
        equal(1_200_000L, t.events(), "records");
    }

    private static void leaves(Path folder) throws Exception {
        TraceReader t = run(folder, "leaves");
        t.allBalanced();
        List<TraceReader.Event> all = t.named("main").all();
        equal(7L, all.stream().filter(e -> e.kind() == 2).count(), "exits");
        equal(4 * 3L, all.stream().filter(e -> e.kind() == 3).count(), "errors");
        equal(2 * (7 + 4 * 3), all.size(), "records");
        equal(0L, t.lost, "lost");
        Result r = finish(folder, command(folder, "leaves", "-Dweave.trace=off"));
        check(r.err.isEmpty(), r.err);
    }

    private static void leaf(Path folder) throws Exception {
        TraceReader t = run(folder, "leaf");
        t.allBalanced();
        TraceReader.LogicalThread main = t.named("main");
        equal(0L, t.lost, "lost");
        equal(2 * (1 + 30_000 + 1 + 30_000), main.all().size(), "records");
        int apart = 0;
        for (TraceReader.Segment segment : main.segments.values()) {
            TraceReader.Event last = segment.events().get(segment.events().size() - 1);
            apart += last.kind() == 1 ? 1 : 0;
        }
        check(apart > 0 && apart < main.segments.size() - 1, apart + " leaves in two chunks");
        TraceReader.Event before = null;
        for (TraceReader.Event e : main.all()) {
            if (e.kind() == 2 && e.id() != 3) {
                check(before.kind() == 1 && before.id() == e.id() && before.time() == e.time(), "one call: " + e);
            }
            before = e;
        }
        // Both are lost, or counted, where there is no room.
        Files.delete(folder.resolve("t.wtrace"));
        t = run(folder, "leaf", "-Dweave.trace.limit=320k", "-Dweave.trace.policy=drop");
        equal(2 * (1 + 30_000 + 1 + 30_000L), t.events() + t.lost, "recorded and lost");
        equal(t.lost, t.lostInThreads(), "LOST escapes against the header");
        check(t.lost > 0, "lost");
        Result r = finish(folder, command(folder, "leaf", "-Dweave.trace=off"));
        check(r.err.isEmpty(), r.err);
    }

    private static void overflow(Path folder) throws Exception {
        TraceReader t = run(folder, "overflow", "-Xss512k");
        for (TraceReader.LogicalThread thread : t.threads.values()) {
            List<TraceReader.Event> all = thread.all();
            check(all.stream().allMatch(e -> List.of(1, 2, -3, 5, 6, 8).contains(e.id())), "only ids that exist");
            check(all.get(all.size() - 1).id() == 8, "the thread goes on to be recorded");
            int start = all.size() - 1;
            while (all.get(start).id() != 8 || all.get(start).kind() != 1) {
                start--;
            }
            equal((thread.name.equals("main") ? 6_000 : 60) + 2, all.size() - start, "records after the storm");
        }
        // Where the stack ended before a thread had a lane, only the header counts.
        check(t.lostInThreads() <= t.lost && t.lost - t.lostInThreads() <= t.failures, "lost " + t.lost + ", "
            + t.lostInThreads());
        equal(t.lost, t.lostDeep, "lost for want of stack");
        // One hook that fails can lose two records.
        check(2 * t.failures >= t.lost, "failures " + t.failures + ", lost " + t.lost);
        check(t.events() > 10_000, "records " + t.events());
    }

    /** Each value is in front of its record, wherever chunks end. */
    /** Links are values of the number 65,534, so many for a span at most; one of what came in has its ids. */
    private static void queued(Path folder) throws Exception {
        TraceReader t = run(folder, "queued");
        t.allBalanced();
        java.util.Map<Integer, List<String>> links = new java.util.TreeMap<>();
        for (List<TraceReader.Value> values : t.named("main").values()) {
            for (TraceReader.Value value : values) {
                equal(65_534, value.number(), "number");
                links.computeIfAbsent(value.id(), id -> new ArrayList<>()).add(value.text());
            }
        }
        equal(java.util.Set.of(10, 11), links.keySet(), "spans with links");
        equal(List.of("00-4bf92f3577b34da6a300000000000000-00f067aa0ba902b7-01"), links.get(10), "of what came in");
        equal(2 * 128, links.get(11).size(), "as many as there may be");
        equal(links.get(10).get(0), links.get(11).get(0), "what came in, and what was taken");
    }

    /** Of an address: product, server, port and name, and nothing that is secret. */
    private static void databases(Path folder) {
        String[][] cases = {
            {"jdbc:postgresql://db.acme.com:6432/shop?user=u&password=geheim", "postgresql db.acme.com 6432 shop"},
            {"jdbc:postgresql://db1,db2:6433/shop", "postgresql db1 5432 shop"},
            {"jdbc:postgresql://[2001:db8::1]:6432/shop", "postgresql 2001:db8::1 6432 shop"},
            {"jdbc:postgresql://[::1]/", "postgresql ::1 5432 null"},
            {"jdbc:postgresql:shop?password=geheim", "postgresql localhost 5432 shop"},
            {"jdbc:postgresql://u:geheim@db/shop", "postgresql db 5432 shop"},
            {"jdbc:postgresql:///shop", "postgresql localhost 5432 shop"},
            {"jdbc:mariadb://db:3307/shop?password=geheim", "mariadb db 3307 shop"},
            {"jdbc:mariadb:replication://first:3307,second/shop", "mariadb first 3307 shop"},
            {"jdbc:mariadb://address=(type=replica)(port=3308)(host=db)/shop", "mariadb db 3308 shop"},
            {"jdbc:mysql://u:ge@heim@db/shop?x=/y", "mysql db 3306 shop"},
            {"jdbc:mysql+srv://db/shop", "mysql db 3306 shop"},
            {"jdbc:h2:mem:shop;DB_CLOSE_DELAY=-1;PASSWORD=geheim", "h2database null 0 shop"},
            {"jdbc:h2:file:/data/shop;CIPHER=AES", "h2database null 0 /data/shop"},
            {"jdbc:h2:~/shop", "h2database null 0 ~/shop"},
            {"jdbc:h2:tcp://db:9092/~/shop;USER=u", "h2database db 9092 ~/shop"},
            {"jdbc:hsqldb:hsql://db:9001/shop", "hsqldb db 9001 shop"},
            {"jdbc:derby://db:1528/shop;user=u;password=geheim", "derby db 1528 shop"},
            {"jdbc:derby:memory:shop;create=true", "derby null 0 shop"},
            {"jdbc:sqlserver://db\\inst:1444;user=u;password=geheim;databaseName=shop", "microsoft.sql_server db 1444 shop"},
            {"jdbc:sqlserver://db;database=shop", "microsoft.sql_server db 1433 shop"},
            {"jdbc:oracle:thin:u/geheim@//db:1522/shop", "oracle.db db 1522 shop"},
            {"jdbc:oracle:thin:u/geheim@db:1523:sid", "oracle.db db 1523 sid"},
            {"jdbc:oracle:thin:@(DESCRIPTION=(ADDRESS=(PROTOCOL=TCP)(HOST=db)(PORT=1524))(CONNECT_DATA=(SERVICE_NAME=shop)))", "oracle.db db 1524 shop"},
            {"jdbc:sqlite:/data/shop.db", "sqlite null 0 /data/shop.db"},
            {"jdbc:acme://u:geheim@db:77/shop", "other_sql db 77 shop"},
            {"jdbc:acme:geheim", "other_sql null 0 null"},
            {"jdbc:postgresql://db:99999999999/shop", "postgresql db 5432 shop"},
            {"jdbc:postgresql://" + "x".repeat(5_000), "null null 0 null"},
            {"geheim", "null null 0 null"},
        };
        for (String[] one : cases) {
            equal(one[1], Access.database(one[0]), one[0]);
        }
        equal("null null 0 null", Access.database(null), "none");
    }

    private static void values(Path folder) throws Exception {
        TraceReader t = run(folder, "values");
        t.allBalanced();
        List<TraceReader.Event> events = t.named("main").all();
        List<List<TraceReader.Value>> values = t.named("main").values();
        equal(2 * 100_000, events.size(), "records");
        for (int i = 0; i < 100_000; i++) {
            int length = i % 140;
            String text = String.valueOf((char) ('a' + i % 26)).repeat(Math.min(length, 128));
            equal(List.of(new TraceReader.Value(5, 8, length > 128 ? 1 : 0, 0, text, 0), new TraceReader.Value(5, 2, 0, 1, "", i)),
                values.get(2 * i), "values in front of enter " + i);
            equal(List.of(new TraceReader.Value(5, 6, 4, 2, "", i % 2)), values.get(2 * i + 1), "values in front of exit " + i);
        }
        check(t.lost == 0 && t.failures == 0, "nothing lost");
    }

    /** What a value's text is asked of may be woven, and record values itself: a class of java.base is, that a patch adds. */
    private static void wovenCollections(Path folder) throws Exception {
        Path source = Files.createDirectories(folder.resolve("source/java/util")).resolve("Woven.java");
        Files.writeString(source, """
            package java.util;
            public class Woven extends AbstractCollection<Integer> {
                private final Runnable asked;
                public Woven(Runnable asked) { this.asked = asked; }
                public int size() { asked.run(); return 3; }
                public Iterator<Integer> iterator() { asked.run(); return null; }
                public String toString() { asked.run(); return ""; }
            }
            """);
        Path patch = folder.resolve("patch");
        int failed = java.util.spi.ToolProvider.findFirst("javac").orElseThrow().run(System.out, System.err,
            "--patch-module", "java.base=" + folder.resolve("source"), "-d", patch.toString(), source.toString());
        equal(0, failed, "javac");
        TraceReader t = run(folder, "wovenCollection", "--patch-module", "java.base=" + patch, "-Xshare:off");
        t.allBalanced();
        equal(List.of(List.of(new TraceReader.Value(5, 9, 0, 0, "java.util.Woven(3)", 0)), List.of()), t.named("main").values(), "values");
    }

    /** A value's text waits for no lock that the program has. */
    private static void lockedValues(Path folder) throws Exception {
        TraceReader t = run(folder, "lockedValues");
        t.allBalanced();
    }

    /** What could not be written leaves nothing behind. */
    private static void valuesOverflow(Path folder) throws Exception {
        for (String compiler : List.of("-Xint", "-XX:TieredStopAtLevel=1", "-XX:+TieredCompilation")) {
            TraceReader t = run(folder, "valuesOverflow", "-Xss512k", compiler);
            TraceReader.LogicalThread main = t.named("main");
            List<TraceReader.Event> events = main.all();
            check(events.stream().allMatch(e -> e.id() == 1 || e.id() == 8), "only ids that exist");
            check(main.values().stream().flatMap(List::stream).allMatch(v -> v.id() == 1
                && (v.kind() == 8 ? v.text().equals("deep".repeat(10)) : v.kind() == 2)), "only values that exist");
            equal(8, events.get(events.size() - 1).id(), "the thread goes on to be recorded");
            check(events.size() > 10_000, "records " + events.size());
            Files.delete(folder.resolve("t.wtrace"));
        }
    }

    private static void guard(Path folder) throws Exception {
        Result r = finish(folder, command(folder, "guard"));
        String said = "; the program runs on, and this hook's next failures are not shown\n";
        List<String> told = r.err.lines().map(l -> l.replaceFirst("^weave: hook (acme\\.Sql\\.\\w+) failed: ", "$1 ")).toList();
        equal(List.of("acme.Sql.begin", "acme.Sql.unruly", "acme.Sql.long", "acme.Sql.again", "acme.Sql.memory", "acme.Sql.stack"),
            told.stream().map(l -> l.substring(0, l.indexOf(' '))).toList(), "hooks that are told, once each");
        check(r.err.startsWith("weave: hook acme.Sql.begin failed: java.lang.IllegalStateException: no 0" + said), r.err);
        check(told.get(1).startsWith("acme.Sql.unruly Programs$") && told.get(2).length() < 1_200, r.err);
        TraceReader t = new TraceReader(folder.resolve("t.wtrace"));
        equal(1_010L, t.failures, "failures");
        equal(2L, t.events(), "records");
        Files.delete(folder.resolve("t.wtrace"));
        // Without a call in the trace there is none; nor with tracing off. The error stream is the same.
        equal(r.err, finish(folder, command(folder, "guardAlone")).err, "what is told without a trace");
        equal(r.err, finish(folder, command(folder, "guard", "-Dweave.trace=off")).err, "what is told with tracing off");
        check(list(folder).stream().noneMatch(p -> p.toString().endsWith(".wtrace")), "no trace");
        List<String> many = finish(folder, command(folder, "guardMany")).err.lines().toList();
        equal("weave: further lines are not shown here (WEAVE_LOG names a file for them)", many.get(many.size() - 1), "the last line");
        int size = String.join("\n", many.subList(0, many.size() - 1)).length();
        check((32 << 10) - 200 < size && size < 32 << 10, size + " bytes on the error stream");
        finish(folder, command(folder, "guardMany", "-Dweave.log=" + folder.resolve("log.txt")));
        equal(1_000L, Files.readString(folder.resolve("log.txt")).lines().count(), "lines about hooks that failed");
        // Nobody reads the error stream.
        Process unread = command(folder, "guardMany").redirectError(ProcessBuilder.Redirect.PIPE).start();
        try {
            check(unread.waitFor(100, TimeUnit.SECONDS), "the program waits for who reads its error stream");
            equal(0, unread.exitValue(), "how it ended");
        } finally {
            unread.destroyForcibly();
        }
    }

    private static void guardOverflow(Path folder) throws Exception {
        for (String compiler : List.of("-Xint", "-XX:TieredStopAtLevel=1", "default")) {
            finish(folder, command(folder, "guardOverflow", "-Dweave.trace=off", compiler));
        }
    }

    private static void wovenHost(Path folder) throws Exception {
        Result r = finish(folder, command(folder, "wovenHost", "-Dweave.trace.policy=x", "-Dweave.trace.limit=300k"));
        check(r.err.lines().count() == 1, r.err);
        TraceReader t = new TraceReader(folder.resolve("t.wtrace"));
        equal(12_000L, t.events(), "records");
        equal(1, t.threads.size(), "threads");
        t.allBalanced();
    }

    private static void loaders(Path folder) throws Exception {
        Result r = finish(folder, command(folder, "loaders"));
        equal("", r.err, "a name that is taken is told in the trace alone");
        equal(600L, new TraceReader(folder.resolve("t.wtrace")).events(), "records of the first");
        TraceReader second = new TraceReader(folder.resolve("t-2.wtrace"));
        equal(606L, second.events(), "records of the second");
        equal(0, second.flags, "a copy of the library that can go holds no shutdown hook");
    }

    private static void symbols(Path folder) throws Exception {
        byte[] big = map(200_001, 1, 2, 300);
        byte[] small = map(0, -3);
        Path a = Files.createDirectories(folder.resolve("a/META-INF/weave"));
        Files.write(a.resolve("symbols"), big);
        Path jar = folder.resolve("b.jar");
        try (java.util.zip.ZipOutputStream zip = new java.util.zip.ZipOutputStream(Files.newOutputStream(jar))) {
            zip.putNextEntry(new java.util.zip.ZipEntry("META-INF/weave/symbols"));
            zip.write(small);
        }
        String path = System.getProperty("java.class.path") + ":" + folder.resolve("a") + ":" + jar;
        TraceReader t = run(folder, "one", "-cp", path);
        equal(3, t.flags, "flags");
        equal(2, t.symbols.size(), "maps");
        check(Arrays.equals(big, t.symbols.get(0)) && Arrays.equals(small, t.symbols.get(1)), "verbatim");
        // As woven artifacts have it: one member names a map, and of what was packed into one jar all maps count.
        Files.delete(a.resolve("symbols"));
        Files.write(a.resolve("0000000000000000.wsym"), big);
        Files.write(a.resolve("symbols"), "0000000000000000.wsym\n".getBytes());
        byte[] other = map(0, -9);
        try (java.util.zip.ZipOutputStream zip = new java.util.zip.ZipOutputStream(Files.newOutputStream(jar))) {
            String[] names = {"symbols", "1111111111111111.wsym", "2222222222222222.wsym"};
            byte[][] contents = {"2222222222222222.wsym\n".getBytes(), small, other};
            for (int i = 0; i < names.length; i++) {
                zip.putNextEntry(new java.util.zip.ZipEntry("META-INF/weave/" + names[i]));
                zip.write(contents[i]);
            }
        }
        Files.delete(folder.resolve("t.wtrace"));
        t = run(folder, "one", "-cp", path);
        equal(3, t.flags, "flags");
        equal(3, t.symbols.size(), "maps beside one another");
        check(Arrays.equals(big, t.symbols.get(0)) && Arrays.equals(small, t.symbols.get(1)) && Arrays.equals(other, t.symbols.get(2)), "all of a jar");
        // The ring leaves them alone; what is too big for the limit is left out and the flag says so.
        Files.delete(folder.resolve("t.wtrace"));
        t = run(folder, "many", "-cp", path, "-Dweave.trace.limit=896k"); // maps take half of it at most
        check(t.overwritten > 0 && Arrays.equals(big, t.symbols.get(0)) && t.flags == 3, "kept in the ring");
        equal((long) MANY, t.events() + t.lost, "recorded and overwritten");
        Files.delete(folder.resolve("t.wtrace"));
        t = run(folder, "many", "-cp", path, "-Dweave.trace.limit=256k");
        equal(1, t.flags, "flags");
    }

    /** The process that {@code Programs.switched} is, and the requests that it gets. */
    private static final class Controlled implements AutoCloseable {
        final Path trace;
        final Process process;
        private final BufferedReader out;
        private int number;

        /** Draws of sampled calls are the process's own. */
        static final String ANEW = "-Dsuite.anew=1";
        /** The aspect under auto may take a hundredth of the program's CPU. */
        static final String WITHIN = "-Dsuite.within=1";

        Controlled(Path folder, String... options) throws Exception {
            this(folder, List.of(), options);
        }

        /** The process is started by way of another command. */
        Controlled(Path folder, List<String> by, String... options) throws Exception {
            trace = folder.resolve("t.wtrace");
            Path maps = Files.createDirectories(folder.resolve("maps/META-INF/weave"));
            Files.write(maps.resolve("symbols"), switchedMap(List.of(options).contains(WITHIN) ? 10 : 0));
            List<String> all = new ArrayList<>(List.of("-cp", System.getProperty("java.class.path") + ":" + folder.resolve("maps")));
            if (!List.of(options).contains(ANEW)) {
                all.add("-Dweave.trace.seed=1");
            }
            all.addAll(List.of(options));
            ProcessBuilder program = command(folder, "switched", all.toArray(String[]::new)).redirectOutput(ProcessBuilder.Redirect.PIPE);
            program.command().addAll(0, by);
            process = program.start();
            out = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
            equal("ready", out.readLine(), "output");
            await(() -> !new TraceReader(trace).changes.isEmpty());
        }

        /** The CPU that the process has taken, in milliseconds. */
        long cpu() {
            return process.info().totalCpuDuration().orElseThrow().toMillis();
        }

        long tell(String line) throws Exception {
            process.getOutputStream().write((line + "\n").getBytes());
            process.getOutputStream().flush();
            return Long.parseLong(out.readLine());
        }

        /** Has this state taken. */
        void request(String state) throws Exception {
            number(number + 1, state);
        }

        void number(int next, String state) throws Exception {
            number = next;
            put(text(next, state).getBytes(StandardCharsets.UTF_8));
            await(() -> header().getInt(8268) == next);
        }

        private String nonce() throws Exception {
            byte[] nonce = new byte[16];
            header().position(8272).get(nonce);
            return java.util.HexFormat.of().formatHex(nonce);
        }

        String text(int next, String state) throws Exception {
            long origin = header().getLong(16);
            return "weave control 2\nto " + process.pid() + " " + origin + "\nnonce " + nonce() + "\nnumber " + Integer.toUnsignedString(next) + "\n"
                    + state + "\n";
        }

        Path requests() throws Exception {
            return Path.of(trace + "." + nonce().substring(0, 16) + ".control");
        }

        void put(byte[] request) throws Exception {
            Path file = Path.of(trace + ".new");
            Files.write(file, request);
            put(file);
        }

        void put(Path file) throws Exception {
            Files.move(file, requests(), java.nio.file.StandardCopyOption.ATOMIC_MOVE);
        }

        /** What lies there now is seen and not taken; then a good one is. */
        void refuses(String why) throws Exception {
            Thread.sleep(200); // the library looks every 20 ms by now: under load this asks for less, and never fails
            equal(number, header().getInt(8268), why);
            Files.deleteIfExists(requests());
            request("level debug");
        }

        private ByteBuffer header() throws Exception {
            try (java.io.InputStream in = Files.newInputStream(trace)) {
                return ByteBuffer.wrap(in.readNBytes(8_288)).order(ByteOrder.LITTLE_ENDIAN);
            }
        }

        private void await(java.util.concurrent.Callable<Boolean> holds) throws Exception {
            for (int i = 0; i < 12_000; i++) {
                if (holds.call()) {
                    return;
                }
                check(process.isAlive(), "the program has ended");
                Thread.sleep(5);
            }
            throw new AssertionError("nothing came of it");
        }

        /** What has been recorded so far of each method: enters, exits and errors; counted; summed up. */
        TraceReader end() throws Exception {
            process.getOutputStream().close();
            check(process.waitFor(60, TimeUnit.SECONDS) && process.exitValue() == 0, "the program ends");
            TraceReader t = new TraceReader(trace);
            t.allBalanced();
            check(t.lost == 0 && t.failures == 0, "nothing lost");
            check(!Files.exists(requests()), "the request is gone with the process");
            return t;
        }

        @Override
        public void close() {
            process.destroyForcibly();
        }
    }

    /** So many enters of a method are in the trace. */
    private static long enters(TraceReader t, int id) {
        return t.threads.values().stream().flatMap(x -> x.all().stream()).filter(e -> e.kind() == 1 && e.id() == id).count();
    }

    /**
     * Methods of the aspects noise (debug: 3, 5), sql (info: 2, 4) and both (6); 1 cannot be switched; of 7 and 8 the program itself decides;
     * 11 to 16 are sampled.
     */
    private static byte[] switchedMap(int overhead) throws Exception {
        java.io.ByteArrayOutputStream entries = new java.io.ByteArrayOutputStream();
        entries.write(11);
        number(entries, 8);
        number(entries, 2);
        text(entries, "noise".getBytes());
        number(entries, 1);
        text(entries, "sql".getBytes());
        number(entries, 1 + 16 + (overhead > 0 ? 128 : 0));
        number(entries, 1_000);
        if (overhead > 0) {
            number(entries, overhead);
        }
        text(entries, "often".getBytes());
        int[] sampled = {10, 1_000, 1, (1 << 24) - 1, 5};
        for (int i = 0; i < sampled.length; i++) {
            number(entries, i == 4 ? 1 + 32 + 64 : 1 + 32);
            number(entries, sampled[i]);
            text(entries, ("sampled " + i).getBytes());
        }
        int[][] rows = {{2, 1}, {3, 0}, {4, 1}, {5, 0}, {6, 0, 1}, {7, 2}, {8, 2}, {11, 3}, {12, 3}, {13, 4}, {14, 5}, {15, 6}, {16, 7}};
        int last = 0;
        for (int[] row : rows) {
            entries.write(12);
            number(entries, row[0] - last);
            last = row[0];
            number(entries, 1);
            number(entries, row.length - 1);
            for (int i = 1; i < row.length; i++) {
                number(entries, row[i]);
            }
        }
        byte[] raw = entries.toByteArray();
        java.util.zip.CRC32 crc = new java.util.zip.CRC32();
        crc.update(raw);
        byte[] methods = map(0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 14, 15, 16);
        ByteBuffer out = ByteBuffer.allocate(methods.length + 12 + 5 + raw.length).order(ByteOrder.LITTLE_ENDIAN);
        out.put(methods).putInt(4, 4).putInt(12, 2);
        out.putInt(raw.length).putInt((int) crc.getValue()).putInt(5 + raw.length);
        out.put((byte) 1).putShort((short) raw.length).putShort((short) ~raw.length).put(raw);
        return out.array();
    }

    private static void switchedModes(Path folder) throws Exception {
        boolean virtual = Runtime.version().feature() >= 21;
        try (Controlled p = new Controlled(folder)) {
            long calls = 0; // of each method that is called once a round
            long[] recorded = new long[7];
            long[] summed = new long[7];
            long[] counted = new long[7];
            String[] states = {"level info\nmode rules", "level debug\nmode rules", "level error\nmode rules", "level debug\nmode off",
                "level error\nenable sql", "level debug\ndisable sql", "level debug\nmode count", "level debug\nmode aggregate",
                "level debug\nmode record", "level info\nmode rules"};
            for (int i = 0; i < states.length; i++) {
                String state = states[i];
                if (i > 0) {
                    p.request(state);
                }
                p.tell("round 1000");
                long n = 4_000;
                if (virtual) {
                    p.tell("virtual 20");
                    n += 1_000;
                }
                calls += n;
                boolean off = state.contains("off");
                boolean sql = !off && !state.contains("disable") && (state.contains("enable") || !state.contains("error"));
                boolean noise = !off && state.contains("debug");
                boolean rules = !state.matches("(?s).*mode (count|aggregate|record).*");
                long[] to = state.contains("count") ? counted : state.contains("aggregate") ? summed : recorded;
                to[2] += sql ? 2 * n : 0;
                to[3] += noise ? n : 0;
                (rules ? summed : to)[5] += noise ? n : 0;
                (rules ? counted : to)[6] += sql || noise ? n : 0;
            }
            TraceReader t = p.end();
            equal(1 + calls, enters(t, 1), "calls that cannot be switched");
            for (int id = 2; id <= 6; id++) {
                equal(recorded[id], enters(t, id), "recorded calls of " + id);
                equal(summed[id], t.sums.containsKey(id) ? t.sums.get(id).calls() : 0, "summed up calls of " + id);
                equal(counted[id], t.counts.getOrDefault(id, 0L), "counted calls of " + id);
            }
            t.sums.forEach((id, sum) -> equal(sum.calls(), sum.ended(), "calls of " + id + " that ended"));
            equal(states.length, t.changes.size(), "changes");
            check(t.controlled && t.request == states.length - 1, "requests");
            equal("level info\nmode rules\n", t.changes.get(0).getValue(), "what it began with");
            equal("level error\nmode rules\nenable sql\n", t.changes.get(4).getValue(), "the fourth change");
            for (int i = 1; i < states.length; i++) {
                check(t.changes.get(i).getKey() > t.changes.get(i - 1).getKey(), "times ascend");
            }
        }
    }

    /** What a call began with is what it ends with. */
    private static void switchedOpen(Path folder) throws Exception {
        try (Controlled p = new Controlled(folder)) {
            p.tell("enter 2"); // on: recorded, and its end, though it is off then
            p.request("level error");
            p.tell("enter 2"); // off, within itself
            p.tell("enter 3");
            p.request("level debug");
            p.tell("error 3"); // began off
            p.tell("enter 3"); // on
            p.tell("exit 3");
            p.tell("exit 2"); // the inner one
            p.tell("exit 2"); // recorded
            p.request("level error");
            p.tell("enter 4"); // off, with nothing open around it
            p.request("level info");
            p.tell("enter 4");
            p.request("level error");
            p.tell("exit 4"); // recorded
            p.tell("exit 4"); // began off
            p.request("level debug\nmode aggregate");
            p.tell("enter 3"); // summed up, and so it ends
            p.request("level debug\nmode count");
            p.tell("enter 2");
            p.request("level debug\nmode rules");
            p.tell("exit 2");
            p.tell("exit 3");
            p.request("level debug\nmode record");
            p.tell("enter 5"); // as if it were not summed up
            p.tell("error 5");
            p.tell("enter 9"); // no map has it, so its rules say what becomes of it, and the level of the start
            p.tell("exit 9");
            p.tell("enter 10");
            p.tell("exit 10");
            TraceReader t = p.end();
            List<String> events = t.named("main").all().stream().map(e -> "_ +-!".charAt(e.kind() + 1) + "" + e.id()).toList();
            equal("[+1, +2, +3, -3, -2, +4, -4, +5, !5, +10, -10, -1]", events.toString(), "records");
            check("java.lang.IllegalStateException".equals(t.named("main").all().get(8).type()), "the exception");
            equal(1L, t.sums.get(3).ended(), "summed up");
            equal(1L, t.counts.get(2), "counted");
        }
    }

    /** What is decided about a call holds for its values. */
    private static void switchedValues(Path folder) throws Exception {
        try (Controlled p = new Controlled(folder)) {
            p.tell("decide 2"); // on
            p.tell("value 2 a 0");
            p.request("level error");
            p.tell("value 2 b 2");
            p.tell("begin 2");
            p.tell("exit 2");
            p.tell("decide 2"); // off
            p.tell("value 2 c 0");
            p.request("level info");
            p.tell("value 2 d 2");
            p.tell("begin 2");
            p.tell("exit 2");
            p.request("level info\nmode aggregate");
            p.tell("decide 2"); // summed up: without values
            p.tell("value 2 e 0");
            p.request("level info");
            p.tell("begin 2");
            p.tell("exit 2");
            TraceReader t = p.end();
            List<TraceReader.Event> all = t.named("main").all();
            List<List<TraceReader.Value>> values = t.named("main").values();
            List<String> calls = new ArrayList<>();
            for (int i = 0; i < all.size(); i++) {
                if (all.get(i).id() == 2) {
                    calls.add("_ +-!".charAt(all.get(i).kind() + 1) + "" + values.get(i).stream().map(TraceReader.Value::text).toList());
                }
            }
            equal("[+[a, b], -[]]", calls.toString(), "calls with their values");
            equal(1L, t.sums.get(2).ended(), "summed up");
        }
    }

    /** A call whose begin has found no stack does not end the call around it. */
    private static void switchedDeep(Path folder) throws Exception {
        // Frames of one size each: what has room at the begin of a call has it at the end.
        try (Controlled p = new Controlled(folder, "-Xint")) {
            p.tell("dive 2");
            p.process.getOutputStream().close();
            check(p.process.waitFor(60, TimeUnit.SECONDS) && p.process.exitValue() == 0, "the program ends");
            List<TraceReader.Event> all = new TraceReader(p.trace).named("dive").all();
            int after = 0;
            for (int i = 0; i < all.size(); i++) {
                if (all.get(i).id() == 1 && all.get(i).kind() == 2) {
                    after += i + 1 < all.size() && all.get(i + 1).id() == 2 && all.get(i + 1).kind() == 2 ? 1 : 0;
                }
            }
            equal(20, after, "outer calls that end behind what follows the inner ones");
        }
    }

    /** No pair is lost. */
    private static void switchedOften(Path folder) throws Exception {
        String[] states = {"level debug", "level error", "level debug\ndisable sql", "level debug\nmode off", "level error\nenable noise",
            "level debug\nmode count", "level info", "level debug\nmode aggregate", "level debug\nmode record"};
        try (Controlled p = new Controlled(folder, "-Dweave.trace.limit=3g")) {
            p.tell("run");
            for (int i = 0; i < switches; i++) {
                p.request(states[i % states.length]);
            }
            p.tell("round 10"); // all on
            long rounds = p.tell("stop") + 40;
            TraceReader t = p.end();
            equal(1 + rounds, enters(t, 1), "calls that cannot be switched");
            long[] most = {0, 0, 2 * rounds, rounds, 0, rounds, rounds};
            for (int id : new int[] {2, 3, 5, 6}) {
                long all = enters(t, id) + t.counts.getOrDefault(id, 0L) + (t.sums.containsKey(id) ? t.sums.get(id).calls() : 0);
                check(all > 40 && all <= most[id], all + " of " + most[id] + " calls of " + id);
            }
            t.sums.forEach((id, sum) -> equal(sum.calls(), sum.ended(), "calls of " + id + " that ended"));
        }
    }

    /** Machine code in which what is off does nothing is given up when somebody switches, the first time and later. */
    private static void switchedLoop(Path folder) throws Exception {
        try (Controlled p = new Controlled(folder)) {
            int calls = 0;
            for (String id : new String[] {"3", "5", "3"}) {
                p.tell("spin " + id);
                Thread.sleep(500); // compiled, most likely; if not, the test asks for less
                p.request("level info\ndisable often"); // still off
                Thread.sleep(200);
                p.request("level debug\nmode aggregate");
                p.tell("stop"); // the loop ends with the first call that is on
                p.request("level info");
                calls++;
            }
            TraceReader t = p.end();
            equal(3, calls, "loops");
            equal(2L, t.sums.get(3).ended(), "calls of 3 that were on");
            equal(1L, t.sums.get(5).ended(), "calls of 5 that were on");
        }
    }

    /** What can be switched is known though no call of it does anything: maps of loaders that threads have come with are found. */
    private static void switchedLate(Path folder) throws Exception {
        Path jar = plug(folder, "late", 71, map(0, 71), true);
        try (Controlled p = new Controlled(folder)) {
            p.tell("round 100");
            p.tell("plug " + jar);
            p.await(() -> new TraceReader(p.trace).symbols.size() == 2);
            p.request("level debug");
            p.tell("round 10");
            equal(40L, enters(p.end(), 3), "calls that are on");
        }
    }

    /** Events of a thread as text, outermost sampled calls with what they stand for. */
    private static List<String> told(TraceReader.LogicalThread thread) {
        List<TraceReader.Event> all = thread.all();
        List<Integer> weights = thread.weights();
        List<String> told = new ArrayList<>();
        for (int i = 0; i < all.size(); i++) {
            told.add("_ +-!".charAt(all.get(i).kind() + 1) + "" + all.get(i).id() + (weights.get(i) == 0 ? "" : "x" + weights.get(i)));
        }
        return told;
    }

    /** Of each thread one of ten outermost calls is recorded, each with all below it, and of the others nothing. */
    private static void sampled(Path folder) throws Exception {
        boolean virtual = Runtime.version().feature() >= 21;
        for (int n : new int[] {5_003, 7}) {
            Files.deleteIfExists(folder.resolve("t.wtrace"));
            try (Controlled p = new Controlled(folder, "-Dweave.trace.limit=1g")) {
                p.tell("requests " + n);
                TraceReader t = p.end();
                int threads = 0;
                long trees = 0;
                long[] by = new long[2];
                for (TraceReader.LogicalThread thread : t.threads.values()) {
                    if (thread.name == null || !thread.name.startsWith("requests")) {
                        continue;
                    }
                    threads++;
                    List<String> told = told(thread);
                    List<List<TraceReader.Value>> values = thread.values();
                    int at = 0;
                    int taken = 0;
                    for (int i = 0; i < n; i++) {
                        int root = 11 + i % 2;
                        String end = (i % 3 == 0 ? "!" : "-") + root;
                        List<String> whole = List.of("+1", "+" + root + "x10", "+1", "-1", "+12", "+11", "+13", "!13", "-11", "-12", end, "-1");
                        List<String> nothing = List.of("+1", "+1", "-1", "-1");
                        if (told.get(at + 1).startsWith("+" + root)) {
                            equal(whole, told.subList(at, at + whole.size()), "request " + i + " of " + thread.name);
                            equal((long) i, values.get(at + 1).get(0).word(), "its value");
                            at += whole.size();
                            taken++;
                            by[i % 2]++;
                        } else {
                            equal(nothing, told.subList(at, at + nothing.size()), "request " + i + " of " + thread.name);
                            check(values.subList(at, at + 4).stream().allMatch(List::isEmpty), "no values");
                            at += nothing.size();
                        }
                    }
                    equal(told.size(), at, "records");
                    check(taken == n / 10 || taken == (n + 9) / 10, taken + " of " + n + " requests of " + thread.name);
                    trees += taken;
                }
                equal(virtual ? 54 : 4, threads, "threads");
                // Requests that take turns have their share each, and threads of less than ten.
                long requests = (long) threads * n;
                check(trees * 10 > requests / 2 && trees * 10 < 2 * requests, trees + " of " + requests);
                check(n < 100 || Math.min(by[0], by[1]) * 3 > trees, by[0] + " and " + by[1]);
            }
        }
    }

    /** Each process takes other calls, unless a seed says which. */
    private static void sampledSeed(Path folder) throws Exception {
        List<Map<Integer, List<String>>> drawn = new ArrayList<>();
        for (String seed : new String[] {"-Dweave.trace.seed=1", "-Dweave.trace.seed=1", "-Dweave.trace.seed=2", Controlled.ANEW, Controlled.ANEW}) {
            Files.deleteIfExists(folder.resolve("t.wtrace"));
            try (Controlled p = new Controlled(folder, seed)) {
                p.tell("requests 500");
                Map<Integer, List<String>> of = new TreeMap<>();
                p.end().threads.forEach((number, thread) -> {
                    if (thread.name != null && thread.name.startsWith("requests")) {
                        of.put(number, told(thread));
                    }
                });
                drawn.add(of);
            }
        }
        for (int other : new int[] {1, 2, 4}) {
            Map<Integer, List<String>> one = drawn.get(other == 4 ? 3 : 0);
            Set<Integer> both = new TreeSet<>(one.keySet());
            both.retainAll(drawn.get(other).keySet());
            check(both.size() >= 3, "threads " + both);
            for (int number : both) {
                equal(other == 1, one.get(number).equals(drawn.get(other).get(number)), "the same calls of thread " + number + ", run " + other);
            }
        }
    }

    /** A call and its tree are ended as they began, and a thread is free when its outermost call ends, whatever is switched. */
    private static void sampledSwitched(Path folder) throws Exception {
        try (Controlled p = new Controlled(folder)) {
            p.tell("enter 14"); // taken, as all are
            p.tell("enter 15"); // on its own it would not be
            p.tell("exit 15");
            p.tell("enter 2"); // another aspect's
            p.request("level error");
            p.tell("enter 14"); // off
            p.tell("error 14");
            p.tell("exit 2");
            p.tell("error 14"); // the tree's own end
            p.request("level info");
            p.tell("enter 15"); // not taken
            p.tell("enter 14"); // and so all below it
            p.tell("exit 14");
            p.tell("enter 2");
            p.tell("exit 2");
            p.request("level info\nmode record");
            p.tell("enter 14"); // all calls are recorded
            p.tell("exit 14");
            p.request("level info\nmode aggregate");
            p.tell("enter 14"); // summed up, and told by itself by no rule
            p.tell("error 14");
            p.request("level info\nmode count");
            p.tell("enter 15");
            p.request("level info\nmode rules");
            p.tell("exit 15"); // one that was counted: it frees nobody
            p.tell("enter 14");
            p.tell("exit 14");
            p.tell("error 15"); // the outermost
            p.tell("enter 14");
            p.tell("exit 14");
            p.request("level info\nmode auto");
            p.tell("enter 14");
            p.tell("exit 14");
            p.request("level info\nmode off");
            p.tell("enter 15"); // off: it decides nothing
            p.request("level info");
            p.tell("enter 14");
            p.tell("exit 14");
            p.tell("exit 15");
            TraceReader t = p.end();
            equal("[+1, +14x1, +15, -15, +2, -2, !14, +2, -2, +14, -14, +14x1, -14, +14x1, -14, +14x1, -14, -1]", told(t.named("main")).toString(),
                "records");
            equal(1L, t.sums.get(14).ended(), "summed up");
            check(t.slow.isEmpty(), "told by themselves");
            equal(1L, t.counts.get(15), "counted");
        }
        Files.delete(folder.resolve("t.wtrace"));
        try (Controlled p = new Controlled(folder)) {
            long bytes = p.tell("allocates");
            check(bytes < 100_000, bytes + " bytes for 300,000 calls");
            p.end();
        }
    }

    /** Pairs and trees stay whole while all is switched: what is outside of a tree is recorded by a mode that records all. */
    private static void sampledOften(Path folder) throws Exception {
        String[] states = {"level info", "level error", "level info\nmode record", "level debug\nmode off", "level error\nenable sampled 0",
            "level info\nmode count", "level info\nmode rules", "level debug\nmode aggregate", "level info\ndisable sampled 0"};
        try (Controlled p = new Controlled(folder, "-Dweave.trace.limit=3g")) {
            p.tell("run requests");
            for (int i = 0; i < 30 * seconds; i++) {
                p.request(states[i % states.length]);
            }
            p.request("level info");
            p.tell("stop");
            p.tell("requests 100");
            TraceReader t = p.end();
            for (TraceReader.LogicalThread thread : t.threads.values()) {
                int open = 0;
                int trees = 0;
                List<Integer> weights = thread.weights();
                List<TraceReader.Event> all = thread.all();
                int depth = 0;
                for (int i = 0; i < all.size(); i++) {
                    if (weights.get(i) > 0) {
                        equal(0, open, "depth of the tree in which another begins");
                        equal(all.get(i).id() == 13 ? 1_000 : 10, weights.get(i), "weight");
                        open = depth + 1;
                        trees++;
                    }
                    depth += all.get(i).kind() == 1 ? 1 : -1;
                    open = depth < open ? 0 : open;
                }
                // Each is free at the end of its requests.
                check(thread.name == null || !thread.name.startsWith("requests") || trees == 10, trees + " of 100 requests");
            }
            t.sums.forEach((id, sum) -> equal(sum.calls(), sum.ended(), "calls of " + id + " that ended"));
        }
    }

    /** So many a second of the process, which stand for all. */
    private static void sampledSecond(Path folder) throws Exception {
        try (Controlled p = new Controlled(folder, "-Dweave.trace.limit=1g")) {
            p.tell("second 50000");
            p.tell("seconds 20000");
            p.tell("second 200");
            TraceReader t = p.end();
            List<String> told = told(t.named("main"));
            long since = 0;
            long taken = 0;
            for (String one : told) {
                since += one.equals("+1") ? 1 : 0;
                if (one.startsWith("+16")) {
                    taken++;
                    if (!one.equals("+16x" + (since - (taken == 1 ? 1 : 0)))) {
                        // The one behind the other threads' calls, which are known by number alone.
                        check(told.indexOf(one) > 50_000, one + " after " + since);
                    }
                    since = 0;
                }
            }
            long weights = 0;
            long trees = 0;
            long first = Long.MAX_VALUE;
            long last = 0;
            for (TraceReader.LogicalThread thread : t.threads.values()) {
                List<Integer> all = thread.weights();
                for (int i = 0; i < all.size(); i++) {
                    weights += all.get(i);
                    if (all.get(i) > 0) {
                        trees++;
                        first = Math.min(first, thread.all().get(i).time());
                        last = Math.max(last, thread.all().get(i).time());
                    }
                }
            }
            // At most 200 at the end are of none.
            check(weights >= 50_000 + 80_000 + 1 && weights <= 50_000 + 80_000 + 1 + 200, weights + " calls");
            check(trees >= 3 && trees <= 2 + (last - first) / 200_000_000, trees + " in " + (last - first) + " ns");
        }
    }

    /** A thread whose hooks find no stack is free all the same, whether its calls are taken or not. */
    private static void sampledDeep(Path folder) throws Exception {
        for (String option : new String[] {"-Xint", "-Xmixed"}) {
            for (String how : new String[] {"dive 14", "dive 15", "plunge 14", "plunge 15"}) {
                Files.deleteIfExists(folder.resolve("t.wtrace"));
                try (Controlled p = new Controlled(folder, option, "-Dweave.trace.limit=1g")) {
                    p.tell(how);
                    p.process.getOutputStream().close();
                    check(p.process.waitFor(60, TimeUnit.SECONDS) && p.process.exitValue() == 0, "the program ends");
                    List<String> told = told(new TraceReader(p.trace).named(how.substring(0, how.indexOf(' '))));
                    equal("[+14x1, -14]", told.subList(told.size() - 2, told.size()).toString(), option + ", " + how + ": the last call");
                }
            }
        }
    }

    /** A method of mode auto goes from recorded to summed up, and its calls are all in the trace; what takes long stays recorded. */
    private static void tooOften(Path folder) throws Exception {
        try (Controlled p = new Controlled(folder, "-Dweave.trace.rate=1k")) {
            long[] calls = new long[9];
            for (int i = 0; i < 1_000 && !new TraceReader(p.trace).decided.containsKey(7); i++) {
                p.tell("often 20");
                calls[7] += 20 * 20_000;
                calls[8] += 20;
            }
            p.tell("often 5"); // without a record of 7, unless it is taken back
            calls[7] += 5 * 20_000;
            calls[8] += 5;
            p.request("level info\nmode rules\nreset");
            p.request("level info\nmode record"); // then nothing is decided
            p.tell("often 20");
            calls[7] += 20 * 20_000;
            calls[8] += 20;
            TraceReader t = p.end();
            equal(1, t.again, "how often it was taken back");
            long recorded = enters(t, 7);
            long summed = t.sums.get(7).calls();
            long all = recorded + summed + t.counts.getOrDefault(7, 0L);
            boolean leftOut = t.leftOut.contains(7);
            check(recorded > 0 && (leftOut || all - recorded >= 5 * 20_000), recorded + " recorded, " + summed + " summed up");
            check(leftOut ? all <= calls[7] : all == calls[7], all + " calls, recorded or not, of " + calls[7]);
            // Those with the other rules: recorded where that was asked for, else summed up, and told by themselves.
            long forced = 2 * 20;
            equal(calls[8] + forced, enters(t, 8), "calls that take long");
            equal(2 * calls[8] - forced, t.sums.get(8).calls(), "calls that are summed up by the rules");
            equal(calls[8] - 20 << 32 | calls[8] - 20, t.slow.get(8), "calls that are told by themselves: failed, and slow");
            equal(summed, t.sums.get(7).ended(), "calls that ended");
        }
    }

    /** What no thread can reach is the rate, but the ring would begin anew. */
    private static void tooOftenForTheRing(Path folder) throws Exception {
        try (Controlled p = new Controlled(folder, "-Dweave.trace.rate=50m", "-Dweave.trace.limit=1m")) {
            boolean summed = false;
            for (int i = 0; i < 1_000 && !summed; i++) {
                p.tell("often 20");
                summed = new TraceReader(p.trace).decided.containsKey(7);
            }
            check(summed, "the method is only summed up where the trace is full");
        }
    }

    /** Under auto, what is straight-line code is counted from the start, and left out where even that is too dear. */
    private static void straightLine(Path folder) throws Exception {
        try (Controlled p = new Controlled(folder)) {
            long calls = 0;
            for (int i = 0; i < 1_000 && !new TraceReader(p.trace).leftOut.contains(7); i++) {
                p.tell("straight 5000000");
                calls += 5_000_000;
            }
            TraceReader t = p.end();
            check(t.leftOut.contains(7), "it is left out");
            equal(0L, enters(t, 7), "records");
            check(!t.sums.containsKey(7), "it is not summed up");
            check(t.counts.get(7) > 0 && t.counts.get(7) <= calls, t.counts.get(7) + " of " + calls + " calls counted");
        }
    }

    /** What a rule says that all this may take counts where no rate is set, and without either nothing is decided. */
    private static void tooDear(Path folder) throws Exception {
        try (Controlled p = new Controlled(folder, "-Dweave.trace.rate=off", Controlled.WITHIN)) {
            boolean decided = false;
            for (int i = 0; i < 1_000 && !decided; i++) {
                p.tell("often 20");
                decided = new TraceReader(p.trace).decided.containsKey(7);
            }
            check(decided, "the method is only summed up where it takes more than a rule says");
        }
        Files.delete(folder.resolve("t.wtrace"));
        try (Controlled p = new Controlled(folder, "-Dweave.trace.rate=off", "-Dweave.trace.limit=1g")) {
            for (int i = 0; i < 5; i++) {
                p.tell("often 20");
            }
            TraceReader t = p.end();
            equal(5L * 20 * 20_000, enters(t, 7), "recorded calls where nothing limits them");
        }
    }

    /**
     * Before the process has had two seconds of CPU, a method whose calls cost more than a rule allows costs no more: on all processors and on
     * one. CPU and not time, since the library goes by what the process gets.
     */
    private static void kept(Path folder) throws Exception {
        for (List<String> by : List.of(List.<String>of(), List.of("taskset", "-c", "0"))) {
            try (Controlled p = new Controlled(folder, by, "-Dweave.trace.rate=off", Controlled.WITHIN)) {
                long since = p.cpu();
                TraceReader then;
                do {
                    p.tell("often 5");
                    then = new TraceReader(p.trace);
                } while (!then.leftOut.contains(7) && p.cpu() - since < 2_000);
                check(then.leftOut.contains(7), "a method of 20,000 calls in a few milliseconds is left out: " + then.decided);
                p.tell("often 20");
                TraceReader t = p.end();
                equal(enters(then, 7), enters(t, 7), "records of it from then on");
                long known = enters(t, 7) + t.sums.get(7).calls() + t.counts.getOrDefault(7, 0L);
                long made = t.sums.get(8).calls() / 2 * 20_000; // two calls of the other method stand around so many
                check(known <= made - 20 * 20_000, known + " of " + made + " calls are known, none of the last 400,000");
            }
            Files.delete(folder.resolve("t.wtrace"));
        }
    }

    /** Of calls that fail all the time so many a second are told by themselves; all are in the sums. */
    private static void failing(Path folder) throws Exception {
        try (Controlled p = new Controlled(folder)) {
            p.tell("failing 200000");
            TraceReader t = p.end();
            long told = t.slow.get(8) >>> 32;
            check(told >= 1_000 && told <= 1_000 * (t.end / 1_000_000_000L + 2), told + " of 200000 calls are told by themselves");
            equal(200_000L, t.sums.get(8).calls(), "calls that are summed up");
            equal(200_000L, t.sums.get(8).errors(), "of these failed");
        }
    }

    /** What is no request of the owner's changes nothing, blocks nothing, and does not lock the owner out. */
    private static void switchedHostile(Path folder) throws Exception {
        try (Controlled p = new Controlled(folder)) {
            p.request("level debug");
            // No UTF-8, behind words that are known.
            java.io.ByteArrayOutputStream bad = new java.io.ByteArrayOutputStream();
            bad.write(p.text(2, "level error\nmode off").getBytes());
            bad.write("enable ".getBytes());
            for (int i = 0; i < 59_000; i++) {
                bad.write(0xFF);
            }
            p.put(bad.toByteArray());
            p.refuses("bytes that are no text");
            for (String state : new String[] {"level error\nmode a later one", "level most", "level error\nand more", "level error\nenable"}) {
                p.put(p.text(p.number + 1, state).getBytes());
                p.refuses(state);
            }
            p.put(p.text(p.number + 1, "level error").replace("nonce ", "nonce 0").getBytes());
            p.refuses("another nonce");
            p.put(p.text(p.number + 1, "level error\ndisable " + "x".repeat(60_000)).getBytes());
            p.refuses("too long");
            // A link, a pipe, another user's.
            Path file = Files.write(folder.resolve("elsewhere"), p.text(p.number + 1, "level error").getBytes());
            Files.deleteIfExists(p.requests());
            Files.createSymbolicLink(p.requests(), file);
            p.refuses("a link");
            equal(0, new ProcessBuilder("mkfifo", folder.resolve("pipe").toString()).start().waitFor(), "mkfifo");
            p.put(folder.resolve("pipe"));
            p.refuses("a pipe");
            if (Files.getAttribute(folder, "unix:uid").equals(0)) {
                Files.writeString(file, p.text(p.number + 1, "level error"));
                Files.setAttribute(file, "unix:uid", 4711);
                p.put(file);
                p.refuses("another user's");
            }
            // A long one is told in few words.
            p.request("level debug\n" + "enable a name of thirty bytes or so\nenable 2\n".repeat(3) + "disable " + "x".repeat(59_000));
            // Numbers begin again.
            p.number(Integer.MAX_VALUE, "level debug");
            p.request("level error"); // 2147483648
            p.number(-1, "level debug");
            p.number(1, "level info");
            p.tell("round 10");
            TraceReader t = p.end();
            equal(40L, enters(t, 1) - 1, "calls that cannot be switched");
            equal(0L, enters(t, 3), "calls of an aspect of level debug");
            equal("level debug\nmode rules\nenable 2\nenable a name of thirty bytes or so\nmore 1\n", t.changes.get(t.changes.size() - 5).getValue(), "a long one");
            check(t.changes.stream().noneMatch(change -> change.getValue().contains("mode off")), "nothing of what was refused");
        }
    }

    private static void switchedLevel(Path folder) throws Exception {
        try (Controlled p = new Controlled(folder, "-Dweave.level=debug")) {
            p.tell("round 10");
            TraceReader t = p.end();
            equal(40L, enters(t, 3), "calls of an aspect of level debug");
            equal("level debug\nmode rules\n", t.changes.get(0).getValue(), "what it began with");
        }
        Files.delete(folder.resolve("t.wtrace"));
        // A request for another process says nothing.
        try (Controlled p = new Controlled(folder, "-Dweave.level=all")) {
            p.put(p.text(1, "level error").replace("to ", "to 9").getBytes());
            p.tell("round 10");
            check(Files.readString(folder.resolve("err")).contains("weave.level: \"all\" is not error, info or debug; info is used"), "the message");
            p.request("level info");
            TraceReader t = p.end();
            equal(80L, enters(t, 2), "calls of an aspect of level info");
            equal(0L, enters(t, 3), "calls of an aspect of level debug");
            equal(1, t.request, "requests");
        }
    }

    /** A symbols map of these methods; random bytes make it as large as asked. */
    static byte[] map(int size, int... ids) throws Exception {
        java.io.ByteArrayOutputStream entries = new java.io.ByteArrayOutputStream();
        java.util.Random random = new java.util.Random(1);
        entries.write(2);
        text(entries, "com.acme.Type".getBytes());
        text(entries, new byte[0]);
        int last = 0;
        for (int id : ids) {
            entries.write(3);
            number(entries, id - last);
            last = id;
            text(entries, ("m" + id).getBytes());
            text(entries, "()V".getBytes());
            number(entries, 7);
        }
        while (entries.size() < size) {
            byte[] noise = new byte[1_000];
            random.nextBytes(noise);
            entries.write(7);
            number(entries, 1);
            text(entries, noise);
        }
        byte[] raw = entries.toByteArray();
        java.util.zip.Deflater deflater = new java.util.zip.Deflater(6, true);
        deflater.setInput(raw);
        deflater.finish();
        byte[] packed = new byte[raw.length + 1_000];
        int n = deflater.deflate(packed);
        java.util.zip.CRC32 crc = new java.util.zip.CRC32();
        crc.update(raw);
        ByteBuffer out = ByteBuffer.allocate(28 + n).order(ByteOrder.LITTLE_ENDIAN);
        out.put("WSYM".getBytes()).putInt(1).putInt(ids.length).putInt(1);
        out.putInt(raw.length).putInt((int) crc.getValue()).putInt(n).put(packed, 0, n);
        return out.array();
    }

    private static void number(java.io.ByteArrayOutputStream out, int value) {
        while (value >>> 7 != 0) {
            out.write(value & 0x7F | 0x80);
            value >>>= 7;
        }
        out.write(value);
    }

    private static void text(java.io.ByteArrayOutputStream out, byte[] bytes) {
        number(out, bytes.length);
        out.writeBytes(bytes);
    }

    private static void planted(Path folder) throws Exception {
        Result r = finish(folder, command(folder, "planted"));
        check(r.err.equals("") || r.err.equals("weave: the trace cannot grow: the file was moved or changed by somebody else; what finds no room in it is counted as lost\n"), r.err);
        Files.delete(folder.resolve("t.wtrace"));
        Files.move(folder.resolve("moved"), folder.resolve("t.wtrace"));
    }

    private static void interruptedGrowth(Path folder) throws Exception {
        Result r = finish(folder, command(folder, "interruptedGrowth", "-Dweave.trace.limit=3g", "-Dtest.seconds=" + seconds));
        equal("", r.err, "messages");
        long calls = Long.parseLong(r.out.lines().findFirst().orElseThrow());
        HeaderOnly t = new HeaderOnly(folder.resolve("t.wtrace"));
        check(t.lost == 0, t.losses + " of " + calls + " calls, " + t.size + " bytes");
        check(t.size > calls * 48, "the file has grown: " + t.size + " for " + calls + " calls");
    }

    private static void noMemory(Path folder) throws Exception {
        ProcessBuilder program = command(folder, "noMemory", "-cp", mapped(folder), "-Xmx24m", "-XX:+UseSerialGC",
            "-Dweave.trace.limit=256m");
        Result r = end(folder, program);
        // A full heap can end a thread of HotSpot's own, and the program with it: that shows nothing.
        for (int i = 0; i < 5 && r.err.contains("in thread \"Reference Handler\""); i++) {
            Files.delete(folder.resolve("t.wtrace"));
            r = end(folder, program);
        }
        check(r.status == 0 && r.out.endsWith("done\n") && r.err.isEmpty(), "the program failed: " + r);
        TraceReader t = new TraceReader(folder.resolve("t.wtrace"));
        equal(6 * 450_000L, t.events() + t.lost, "recorded and lost");
        check(t.lost > 0, "there was memory all the time");
        equal(1_200_000L, t.named("after").events(), "records once there was memory again");
    }

    private static void noMemoryForNames(Path folder) throws Exception {
        String path = mapped(folder);
        for (int megabytes = 6; megabytes <= 10; megabytes += 2) {
            Result r = finish(folder, command(folder, "noMemoryForNames", "-cp", path, "-Xmx" + megabytes + "m",
                "-XX:+UseSerialGC"));
            equal("", r.err, "messages");
            TraceReader.mapsMayBeCut = true;
            TraceReader t = new TraceReader(folder.resolve("t.wtrace"));
            TraceReader.mapsMayBeCut = false;
            equal(6_006 + 60 * Long.parseLong(r.out.lines().findFirst().orElseThrow()), t.events() + t.lost, "recorded and lost");
            equal(t.lost, t.lostDeep + t.lostFailed, "lost because a hook failed");
            equal(6_006L, t.named("main").events(), "records of main");
            Files.delete(folder.resolve("t.wtrace"));
        }
    }

    private static void noMemoryForErrors(Path folder) throws Exception {
        TraceReader t = run(folder, "noMemoryForErrors", "-Xmx24m", "-XX:+UseSerialGC");
        // A thread of HotSpot's own may leave room in a full heap: that shows nothing.
        for (int i = 0; i < 5 && t.lost == 0; i++) {
            Files.delete(folder.resolve("t.wtrace"));
            t = run(folder, "noMemoryForErrors", "-Xmx24m", "-XX:+UseSerialGC");
        }
        long collections = Long.parseLong(Files.readAllLines(folder.resolve("out")).get(0));
        // A try collects twice or so, and there is one in 100 ms; each error's own would be 6,000.
        check(collections < 2_000, collections + " collections for 3,000 errors");
        equal(2 * 53_001L, t.events() + t.lost, "recorded and lost");
        check(t.lost > 0 && t.lost == t.lostFailed, "lost, because a hook failed: " + t.lost + ", " + t.lostFailed);
        List<TraceReader.Event> all = t.named("main").all();
        equal("a", all.get(all.size() - 1).message(), "described once there was memory again");
    }

    /** A class path with a symbols map. */
    private static String mapped(Path folder) throws Exception {
        Path map = Files.createDirectories(folder.resolve("mapped/META-INF/weave"));
        Files.write(map.resolve("symbols"), map(100_001, 1, 2, 300, -3));
        return System.getProperty("java.class.path") + ":" + folder.resolve("mapped");
    }

    /** Of files that are too large to be read. */
    private static final class HeaderOnly {
        final long size;
        final long lost;
        /** The records lost, and why. */
        final String losses;

        HeaderOnly(Path path) throws Exception {
            size = Files.size(path);
            try (FileChannel file = FileChannel.open(path)) {
                ByteBuffer b = ByteBuffer.allocate(8_264).order(ByteOrder.LITTLE_ENDIAN);
                file.read(b);
                lost = b.getLong(48);
                losses = lost + " lost, short of stack " + b.getLong(8_200) + ", failed " + b.getLong(8_208) + ", overwritten " + b.getLong(8_256);
            }
        }
    }

    private static void stopped(Path folder) throws Exception {
        for (String limit : List.of("64m", "4m")) {
            stopped(folder, limit);
            Files.delete(folder.resolve("t.wtrace"));
        }
    }

    private static void stopped(Path folder, String limit) throws Exception {
        Result r = finish(folder, command(folder, "stopped", "-Dweave.trace.limit=" + limit));
        equal("", r.err, "messages");
        TraceReader t = new TraceReader(folder.resolve("t.wtrace"));
        check(t.named("main").events() == 6_000, "main is recorded");
    }

    private static void truncated(Path folder) throws Exception {
        for (int length : new int[] {0, 65_536, 1 << 20, 300_000, 4_096, 4_097}) {
            String compilers = length % 2 == 0 ? "default" : "-XX:TieredStopAtLevel=1";
            for (boolean work : length % 4_096 == 0 ? new boolean[] {false, true} : new boolean[] {false}) {
                Result r = finish(folder, command(folder, "truncated", "-Dtest.length=" + length, "-Dtest.wait="
                    + (300 + length % 999), "-Dtest.work=" + work, "-Dweave.trace.sample=off", "-Dweave.trace=" + folder
                    + "/t.wtrace", compilers));
                Files.delete(folder.resolve("t.wtrace"));
                String what = "cut to " + length + (work ? " at work: " : ": ") + r.out + r.err;
                check(r.err.startsWith("weave: the trace cannot grow: ") && r.err.lines().count() == 1, what);
                String[] escaped = r.out.lines().findFirst().orElseThrow().split(" ");
                // A thread that the system took off its processor between writing a word and reading it again finds the page
                // gone in the reading, whose result HotSpot makes up: it may be right, and the fault comes later. Once.
                check(work ? escaped[1].matches("[01]") && Integer.parseInt(escaped[0]) <= 7 : escaped[0].equals("0"), what);
            }
        }
    }

    private static void firstInOverflow(Path folder) throws Exception {
        TraceReader t = run(folder, "firstInOverflow", "-Xss512k");
        equal(6_000L, t.named("main").events(), "records of main");
        check(t.lost > 0 && t.lost == t.lostDeep, "the first were counted: " + t.lost + ", " + t.lostDeep);
    }

    private static void lateLosses(Path folder) throws Exception {
        Result r = finish(folder, command(folder, "lateLosses", "-Dweave.trace.limit=256k", "-Dweave.trace.policy=drop"));
        TraceReader t = new TraceReader(folder.resolve("t.wtrace"));
        check(t.lost > 2_000, "lost: " + t.lost + r.err);
        check(t.lost <= t.lostInThreads(), "lost twice: " + t.lost + ", in the threads " + t.lostInThreads());
    }

    private static void manyNumbers(Path folder) throws Exception {
        TraceReader t = run(folder, "manyNumbers");
        t.allBalanced();
        equal(81, t.threads.size(), "threads");
        equal(81L - 1, t.threads.values().stream().filter(x -> x.events() == 30_000).count(), "whole threads");
    }

    private static Path plug(Path folder, String name, int id, byte[] map, boolean jar) throws Exception {
        Path root = Files.createDirectories(folder.resolve(name));
        Path classes = Stream.of(System.getProperty("java.class.path").split(":")).map(Path::of).filter(
            p -> Files.exists(p.resolve("Plug.class"))).findFirst().orElseThrow();
        java.util.Map<String, byte[]> members = new java.util.TreeMap<>();
        // Under another path than the class path's, which would come first.
        members.put("Plug.class", Files.readAllBytes(classes.resolve("Plug.class")));
        members.put("id.txt", Integer.toString(id).getBytes());
        if (map != null) {
            members.put("META-INF/weave/symbols", map);
        }
        if (jar) {
            Path file = folder.resolve(name + ".jar");
            try (java.util.zip.ZipOutputStream zip = new java.util.zip.ZipOutputStream(Files.newOutputStream(file))) {
                for (var m : members.entrySet()) {
                    zip.putNextEntry(new java.util.zip.ZipEntry(m.getKey()));
                    zip.write(m.getValue());
                }
            }
            return file;
        }
        for (var m : members.entrySet()) {
            Path file = root.resolve(m.getKey());
            Files.createDirectories(file.getParent());
            Files.write(file, m.getValue());
        }
        return root;
    }

    private static void late(Path folder) throws Exception {
        byte[] own = map(0, 1, 2, -3);
        Path a = plug(folder, "a", 71, map(0, 71), true);
        Path b = plug(folder, "b", 72, map(0, 70, 72), false);
        Path none = plug(folder, "c", 73, null, true);
        Path first = Files.createDirectories(folder.resolve("own/META-INF/weave"));
        Files.write(first.resolve("symbols"), own);
        // Without Plug: the loaders of the plug-ins ask their parent first.
        Path classes = Files.createDirectory(folder.resolve("classes"));
        String path = "";
        for (String entry : System.getProperty("java.class.path").split(":")) {
            if (Files.exists(Path.of(entry).resolve("Plug.class"))) {
                system("cp", "-r", entry + "/.", classes.toString());
                Files.delete(classes.resolve("Plug.class"));
                entry = classes.toString();
            }
            path += entry + ":";
        }
        path += folder.resolve("own");
        TraceReader t = run(folder, "late", "-cp", path, "-Dtest.late=" + a + ":" + b);
        equal(3, t.symbols.size(), "maps");
        equal(3, t.flags, "all have names");
        Files.delete(folder.resolve("t.wtrace"));
        t = run(folder, "late", "-cp", path, "-Dtest.late=" + none);
        equal(1, t.flags, "one has no name");
        Files.delete(folder.resolve("t.wtrace"));
        t = run(folder, "late", "-cp", path, "-Dtest.late=" + none + ":" + a);
        equal(2, t.symbols.size(), "maps");
        equal(1, t.flags, "one has no name");
    }

    private static void webApplication(Path folder) throws Exception {
        Result r = finish(folder, command(folder, "webApplication"));
        equal("", r.err, "messages");
        TraceReader t = new TraceReader(folder.resolve("t.wtrace"));
        equal(70_000L * 6, t.events(), "records");
        equal(counts(1_000 + 4 * 500), t.counts, "counts");
        t.allBalanced();
    }

    private static void containerLimits(Path folder) throws Exception {
        Path root = folder.resolve("root");
        Path group = Files.createDirectories(root.resolve("sys/fs/cgroup/a/b"));
        Files.createDirectories(root.resolve("proc/self"));
        Files.writeString(root.resolve("proc/self/cgroup"), "0::/a/b\n");
        Files.writeString(group.resolve("memory.max"), "max\n");
        equal((1L << 30) + " by 1", weave.runtime.Access.containerLimit(1L << 30, root.toFile()), "no limit");
        Files.writeString(group.getParent().resolve("memory.max"), (256 << 20) + "\n");
        Files.writeString(group.getParent().resolve("memory.current"), (56 << 20) + "\n");
        equal((50L << 20) + " by 3", weave.runtime.Access.containerLimit(1L << 30, root.toFile()), "what is left, above");
        Files.writeString(group.resolve("memory.max"), (64 << 20) + "\n");
        Files.writeString(group.resolve("memory.current"), "0\n");
        equal((16L << 20) + " by 3", weave.runtime.Access.containerLimit(1L << 30, root.toFile()), "a quarter");
        Path v1 = Files.createDirectories(root.resolve("sys/fs/cgroup/memory"));
        Files.writeString(root.resolve("proc/self/cgroup"), "12:cpu,cpuacct:/x\n5:memory:/docker/abc\n");
        Files.writeString(v1.resolve("memory.limit_in_bytes"), "9223372036854771712\n");
        Files.writeString(v1.resolve("memory.usage_in_bytes"), "5\n");
        equal((1L << 30) + " by 1", weave.runtime.Access.containerLimit(1L << 30, root.toFile()), "the kernel's \"no limit\"");
        Files.writeString(v1.resolve("memory.limit_in_bytes"), (400 << 20) + "\n");
        equal(((400L << 20) - 5) / 4 + " by 3", weave.runtime.Access.containerLimit(1L << 30, root.toFile()), "version 1");
    }

    private static void defaultLimit(Path folder) throws Exception {
        Path disk = Files.createDirectory(folder.resolve("disk"));
        if (!system("mount", "-t", "tmpfs", "-o", "size=12m", "none", disk.toString())) {
            throw new AssertionError("a small disk cannot be mounted (test.sh makes a namespace for it)");
        }
        try {
            Result r = finish(folder, command(folder, "many", "-Dweave.trace=" + disk + "/t.wtrace"));
            equal("", r.err, "error stream: nothing is wrong");
            TraceReader t = new TraceReader(disk.resolve("t.wtrace"));
            equal("the trace's limit is 6m, half of the free room of its file system; WEAVE_TRACE_LIMIT sets another",
                t.notes, "the trace's own notes");
            equal(6L << 20, t.limit, "limit");
            equal(2, t.limitSetBy, "who set it");
            Files.delete(disk.resolve("t.wtrace"));
            Files.write(disk.resolve("fill"), new byte[11 << 20]);
            r = finish(folder, command(folder, "many", "-Dweave.trace=" + disk + "/t.wtrace"));
            check(r.err.startsWith("weave: no trace is written: its limit would be "), r.err);
            check(!Files.exists(disk.resolve("t.wtrace")), "no file");
        } finally {
            system("umount", "-l", disk.toString());
        }
    }

    private static void patterns(Path folder) throws Exception {
        finish(folder, command(folder, "one", "-Dweave.trace=sub/a%%-%h-%t-%p.wtrace"));
        Path made = list(folder.resolve("sub")).get(0);
        check(made.getFileName().toString().matches("a%-[A-Za-z0-9._-]+-\\d{8}-\\d{6}-\\d+\\.wtrace"), made.toString());
        equal("rw-------", java.nio.file.attribute.PosixFilePermissions.toString(Files.getPosixFilePermissions(made)), "mode");
        equal("rwx------", java.nio.file.attribute.PosixFilePermissions.toString(Files.getPosixFilePermissions(made.getParent())),
            "mode of a folder");
        // Others of the pattern, older: traces and not, ended or killed, one still written.
        Path keep = Files.createDirectory(folder.resolve("keep"));
        Files.writeString(keep.resolve("r-17.wtrace"), "not a trace");
        Process live = command(folder, "killed", "-Dweave.trace=" + keep + "/r-%p.wtrace").redirectOutput(
            ProcessBuilder.Redirect.PIPE).start();
        equal("done", new BufferedReader(new InputStreamReader(live.getInputStream())).readLine(), "output");
        for (int i = 0; i < 3; i++) {
            finish(folder, command(folder, "one", "-Dweave.trace=" + keep + "/r-%p.wtrace"));
        }
        finish(folder, command(folder, "one", "-Dweave.trace=" + keep + "/other.wtrace"));
        Process killed = command(folder, "killed", "-Dweave.trace=" + keep + "/r-%p.wtrace").redirectOutput(
            ProcessBuilder.Redirect.PIPE).start();
        equal("done", new BufferedReader(new InputStreamReader(killed.getInputStream())).readLine(), "output");
        killed.destroyForcibly().waitFor();
        equal(7, list(keep).size(), "files");
        Result r = finish(folder, command(folder, "one", "-Dweave.trace=" + keep + "/r-%p.wtrace", "-Dweave.trace.keep=3"));
        equal("", r.err, "messages");
        List<Path> left = list(keep);
        check(Files.exists(keep.resolve("r-17.wtrace")) && Files.exists(keep.resolve("other.wtrace"))
            && Files.exists(keep.resolve("r-" + live.pid() + ".wtrace")), "kept: " + left);
        equal(5, left.size(), "files left: " + left);
        check(Files.exists(keep.resolve("r-" + killed.pid() + ".wtrace")), "the newest is kept: " + left);
        live.destroyForcibly().waitFor();
    }

    /** A copy of the library that looks for old traces leaves the others of its process their locks. */
    private static void ownTraces(Path folder) throws Exception {
        for (String program : List.of("keepers", "forgetfulKeepers")) {
            Path keep = Files.createDirectory(folder.resolve(program));
            Process live = started(folder, program, "-Dweave.trace=" + keep + "/r-%p.wtrace", "-Dweave.trace.keep=9");
            List<Path> own = list(keep);
            equal(program.equals("keepers") ? 2 : 3, own.size(), "copies");
            finish(folder, command(folder, "one", "-Dweave.trace=" + keep + "/r-%p.wtrace", "-Dweave.trace.keep=1"));
            check(list(keep).containsAll(own), "of " + own + " are left " + list(keep));
            live.destroyForcibly().waitFor();
            finish(folder, command(folder, "one", "-Dweave.trace=" + keep + "/r-%p.wtrace", "-Dweave.trace.keep=1"));
            equal(1, list(keep).size(), "once the process is gone");
        }
    }

    /** The consumer is slow, but lives, and then dies: the program waits as long as it lives, and not much longer. */
    private static void blockHeartbeat(Path folder) throws Exception {
        Process process = command(folder, "many", "-Dweave.trace.limit=512k", "-Dweave.trace.policy=block",
            "-Dweave.trace.block=6000").start();
        Path path = folder.resolve("t.wtrace");
        for (int i = 0; i < 30_000 && (!Files.exists(path) || Files.size(path) < 512 << 10); i++) {
            Thread.sleep(2);
        }
        try (RandomAccessFile file = new RandomAccessFile(path.toFile(), "rw")) {
            MappedByteBuffer map = file.getChannel().map(FileChannel.MapMode.READ_WRITE, 0, file.length());
            map.order(ByteOrder.LITTLE_ENDIAN);
            map.putLong(8216, ProcessHandle.current().pid());
            for (int i = 0; i < 160; i++) {
                map.putLong(8224, map.getLong(8224) + 1);
                Thread.sleep(50);
            }
            equal(0L, map.getLong(48), "lost while the consumer lives");
            check(process.isAlive(), "the program waits for the consumer");
        }
        check(process.waitFor(60, TimeUnit.SECONDS), "the program does not wait for a dead consumer");
        TraceReader t = new TraceReader(path);
        equal((long) MANY, t.events() + t.lost, "recorded and lost");
    }

    /** The library as the named module it says it is. */
    private static void module(Path folder) throws Exception {
        String jar = Stream.of(System.getProperty("java.class.path").split(":")).filter(
            e -> e.endsWith("weave-runtime.jar")).findFirst().orElseThrow();
        ProcessBuilder b = new ProcessBuilder(System.getProperty("java.home") + "/bin/java", "--module-path", jar,
            "--describe-module", "weave.runtime").redirectErrorStream(true);
        String text = new String(b.start().getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        check(text.contains("exports weave.runtime") && text.contains("requires java.base mandated"), text);
    }

    private static void virtualThreads(Path folder) throws Exception {
        TraceReader t = run(folder, "virtualThreads");
        t.allBalanced();
        equal(100_000, t.threads.size(), "threads");
        equal(100_000 * 12L, t.events(), "records");
        check(t.threads.values().stream().allMatch(x -> x.flags == 3), "flags: virtual, daemon");
        check(t.size < 70 << 20, "size: " + t.size);
        check(t.failures == 0 && t.lost == 0, "nothing lost");
    }

    private static void mixed(Path folder) throws Exception {
        TraceReader t = run(folder, "mixed");
        t.allBalanced();
        equal(8 * 60_000L + 2 * 600_000L, t.events(), "records");
        equal(10, t.threads.size(), "threads");
    }

    private static void mixedDrop(Path folder) throws Exception {
        TraceReader t = run(folder, "mixed", "-Dweave.trace.limit=1m", "-Dweave.trace.policy=drop");
        equal(8 * 60_000L + 2 * 600_000L, t.events() + t.lost, "recorded and lost");
        equal(0L, t.failures, "failures");
    }
}
