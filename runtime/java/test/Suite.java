import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.RandomAccessFile;
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
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * Runs each of {@link Programs} in a process of its own and reads what it leaves. The arguments:
 * a scratch folder, and part of the name of the tests to run. WEAVE_TEST_OPTIONS are more options of the programs' JVM.
 */
public final class Suite {
    private static final int MANY = 600_000;
    private static Path scratch;
    private static String only;
    private static int passed;
    private static int failures;
    private static int notRun;

    /** What this machine cannot do. */
    private static final class NotRun extends RuntimeException {
        NotRun(String why) {
            super(why);
        }
    }

    interface Case {
        void run(Path folder) throws Exception;
    }

    record Result(int status, String out, String err, long millis) {}

    public static void main(String[] arguments) throws Exception {
        scratch = Path.of(arguments[0]);
        only = arguments.length > 1 ? arguments[1] : "";
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
        test("settings", Suite::settings);
        test("off", Suite::off);
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
        test("woven host", Suite::wovenHost);
        test("two class loaders", Suite::loaders);
        test("symbols", Suite::symbols);
        test("module path", Suite::module);
        if (virtual) {
            test("100,000 virtual threads", Suite::virtualThreads);
            test("virtual threads at full speed", Suite::mixed);
            test("virtual threads, drop", Suite::mixedDrop);
        }
        if (notRun > 0) {
            System.out.println(notRun + " not run (see above)");
        }
        System.out.println(passed + " passed, " + failures + " failed");
        if (failures > 0 || passed == 0) {
            System.exit(1);
        }
    }

    private static void test(String name, Case body) throws Exception {
        if (!name.contains(only)) {
            return;
        }
        Path folder = Files.createTempDirectory(scratch, "case");
        long start = System.nanoTime();
        String verdict = "ok";
        try {
            body.run(folder);
            passed++;
        } catch (NotRun t) {
            notRun++;
            verdict = "NOT RUN: " + t.getMessage();
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
        long start = System.nanoTime();
        Process process = builder.start();
        // Some start 100,000 threads, on machines that may be busy with other things.
        if (!process.waitFor(240, TimeUnit.SECONDS)) {
            process.destroyForcibly();
            throw new AssertionError("the program hangs");
        }
        long millis = (System.nanoTime() - start) / 1_000_000;
        Result r = new Result(process.exitValue(), Files.readString(folder.resolve("out")),
            Files.readString(folder.resolve("err")), millis);
        check(r.status == 0 && r.out.endsWith("done\n"), "the program failed: " + r);
        return r;
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
        equal(3, t.flags, "flags: ended, all symbols");
        equal("Programs threads", t.command, "command");
        check(t.lost == 0 && t.failures == 0 && t.overwritten == 0, "nothing lost");
        long last = t.named("main").all().get(1_999).time();
        check(t.end >= last && t.end - last < 3_000_000_000L, "end " + t.end + " is behind the last record " + last);
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
        // The hooks that the endless getMessage calls may fail where the stack ends; they would not have recorded.
        equal(0L, t.lost, "lost");
    }

    private static void gap(Path folder) throws Exception {
        TraceReader t = run(folder, "gap");
        t.allBalanced();
        List<TraceReader.Event> all = t.named("main").all();
        long took = all.get(1).time() - all.get(0).time();
        check(took >= 1_200_000_000L && took < 4_000_000_000L, "1.2 s were " + took);
    }

    private static void ring(Path folder) throws Exception {
        TraceReader t = run(folder, "many", "-Dweave.trace.limit=512k");
        check(t.size <= 512 << 10 && t.overwritten > 50, "size " + t.size + ", overwritten " + t.overwritten);
        equal((long) MANY, t.events() + t.lost, "recorded and overwritten");
        TraceReader.LogicalThread main = t.named("main");
        equal(main.segments.size(), main.segments.lastKey() - main.segments.firstKey() + 1, "the newest segments");
        List<TraceReader.Event> all = main.all();
        equal(1, all.get(all.size() - 1).id(), "the last record");
        // The smallest file: a header and one chunk.
        Files.delete(folder.resolve("t.wtrace"));
        t = run(folder, "many", "-Dweave.trace.limit=128k");
        equal(131_072L, t.size, "size");
        equal((long) MANY, t.events() + t.lost, "recorded and overwritten");
    }

    private static void drop(Path folder) throws Exception {
        TraceReader t = run(folder, "many", "-Dweave.trace.limit=512k", "-Dweave.trace.policy=drop");
        equal(1, t.policy, "policy");
        equal((long) MANY, t.events() + t.lost, "recorded and lost");
        equal(t.lost, t.lostInThreads(), "LOST escapes against the header");
        check(t.events() > 50_000 && t.overwritten == 0, "the oldest records are kept");
        List<TraceReader.Event> all = t.named("main").all();
        equal(List.of(1, 2, -3), all.subList(0, 3).stream().map(TraceReader.Event::id).toList(), "the first records");
        // More threads than chunks.
        Files.delete(folder.resolve("t.wtrace"));
        t = run(folder, "threads", "-Dweave.trace.limit=128k", "-Dweave.trace.policy=drop");
        equal(602_000L, t.events() + t.lost, "recorded and lost");
    }

    private static void blockAlone(Path folder) throws Exception {
        Result r = finish(folder, command(folder, "many", "-Dweave.trace.limit=512k", "-Dweave.trace.policy=block",
            "-Dweave.trace.block=700"));
        check(r.millis >= 700 && r.millis < 6_000, "waited once: " + r.millis);
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
        while (process.isAlive() && System.nanoTime() - start < 30_000_000_000L) {
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
        check(process.waitFor(1, TimeUnit.SECONDS), "the program hangs");
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
            throw new NotRun("mounting a small disk to fill needs root");
        }
        try {
            for (String policy : List.of("ring", "drop", "block")) {
                Result r = finish(folder, command(folder, "many", "-Dweave.trace=" + disk + "/t.wtrace",
                    "-Dweave.trace.block=100", "-Dweave.trace.policy=" + policy));
                TraceReader t = new TraceReader(disk.resolve("t.wtrace"));
                equal((long) MANY, t.events() + t.lost, "recorded and lost, " + policy);
                check(t.size > 1 << 20 && t.lost > 0, "it used what there was: " + t.size);
                check(r.err.lines().count() == 1 && r.err.contains("cannot grow: "), r.err);
                Files.delete(disk.resolve("t.wtrace"));
            }
            Files.write(disk.resolve("fill"), new byte[(2 << 20) - 8_192]);
            Result r = finish(folder, command(folder, "many", "-Dweave.trace=" + disk + "/t.wtrace"));
            check(r.err.matches("weave: cannot write the trace .*: No space left on device; the program runs on without"
                + " it\n"), r.err);
            check(!Files.exists(disk.resolve("t.wtrace")), "no empty file is left");
        } finally {
            system("umount", "-l", disk.toString());
        }
    }

    private static void readOnly(Path folder) throws Exception {
        Path disk = Files.createDirectory(folder.resolve("disk"));
        boolean mounted = system("mount", "-t", "tmpfs", "-o", "ro,size=1m", "none", disk.toString());
        if (!mounted) {
            check(disk.toFile().setWritable(false), "chmod");
        }
        try {
            Result r = finish(folder, command(folder, "many", "-Dweave.trace=" + disk));
            check(r.err.matches("weave: cannot write the trace .*/weave-\\d+.wtrace: (Read-only file system|Permission"
                + " denied); the program runs on without it\n"), r.err);
        } finally {
            if (mounted) {
                system("umount", "-l", disk.toString());
            }
        }
        Files.write(folder.resolve("file"), new byte[1]);
        Result r = finish(folder, command(folder, "one", "-Dweave.trace=" + folder + "/file/x/t.wtrace"));
        check(r.err.matches("weave: cannot write the trace .*\n"), r.err);
        r = finish(folder, command(folder, "one", "-Dweave.trace.limit=100k"));
        check(r.err.contains("the limit is below 131072 bytes"), r.err);
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
        run(folder, "one");
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

    private static void settings(Path folder) throws Exception {
        ProcessBuilder b = command(folder, "many", "-Dweave.trace.policy=sometimes");
        b.environment().put("WEAVE_TRACE_LIMIT", "1M");
        Result r = finish(folder, b);
        equal("weave: weave.trace.policy: \"sometimes\" is not ring, drop or block; ring is used\n", r.err, "message");
        equal(1L << 20, new TraceReader(folder.resolve("t.wtrace")).size, "size");
        for (String limit : List.of("many", "-1", "k", "99999999999g")) {
            r = finish(folder, command(folder, "one", "-Dweave.trace.limit=" + limit));
            equal("weave: weave.trace.limit: \"" + limit + "\" is not a size such as 512m; 1g is used\n", r.err, "message");
        }
    }

    private static void off(Path folder) throws Exception {
        finish(folder, command(folder, "noThreadLeft", "-Dweave.trace=OFF",
            "-Xlog:class+load:file=loaded"));
        check(list(folder).isEmpty(), "no file");
        List<String> loaded = Files.readAllLines(folder.resolve("loaded")).stream().filter(l -> l.contains(" weave.runtime.")).map(
            l -> l.replaceAll(".* weave\\.runtime\\.(\\w+) .*", "$1")).toList();
        equal(List.of("Hooks", "Settings"), loaded, "classes loaded");
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

    private static Process started(Path folder, String program) throws Exception {
        Process process = command(folder, program).redirectOutput(ProcessBuilder.Redirect.PIPE).start();
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
        check(t.size <= 8 << 20, "size: " + t.size);
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
        equal(t.lost, t.lostInThreads(), "LOST escapes against the header");
        // One hook that fails can lose two records.
        check(2 * t.failures >= t.lost, "failures " + t.failures + ", lost " + t.lost);
        check(t.events() > 10_000, "records " + t.events());
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
        check(r.err.isEmpty(), r.err);
        equal(600L, new TraceReader(folder.resolve("t.wtrace")).events(), "records of the first");
        TraceReader second = new TraceReader(folder.resolve("t-2.wtrace"));
        equal(606L, second.events(), "records of the second");
        equal(3, second.flags, "flags of the second");
    }

    private static void symbols(Path folder) throws Exception {
        byte[] big = new byte[200_001];
        new java.util.Random(1).nextBytes(big);
        byte[] small = "WSYM and so on".getBytes(StandardCharsets.UTF_8);
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
        // The ring leaves them alone; what is too big for the limit is left out and the flag says so.
        Files.delete(folder.resolve("t.wtrace"));
        t = run(folder, "many", "-cp", path, "-Dweave.trace.limit=640k");
        check(t.overwritten > 0 && Arrays.equals(big, t.symbols.get(0)) && t.flags == 3, "kept in the ring");
        equal((long) MANY, t.events() + t.lost, "recorded and overwritten");
        Files.delete(folder.resolve("t.wtrace"));
        t = run(folder, "many", "-cp", path, "-Dweave.trace.limit=256k");
        equal(1, t.flags, "flags");
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
