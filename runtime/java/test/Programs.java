import java.io.File;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Enumeration;
import java.util.Hashtable;
import java.util.List;
import java.util.Vector;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.PriorityBlockingQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import weave.runtime.Access;
import weave.runtime.Guard;
import weave.runtime.Hooks;
import weave.runtime.Queued;
import weave.runtime.Spans;
import weave.runtime.Switched;
import weave.runtime.Values;

/** Small programs as if woven, each run in a process of its own. The last line of each says what its trace must hold. */
public final class Programs {
    public static void main(String[] arguments) throws Throwable {
        Method program = Programs.class.getDeclaredMethod(arguments[0]);
        try {
            program.invoke(null);
        } catch (java.lang.reflect.InvocationTargetException e) {
            throw e.getCause();
        }
        System.out.println("done");
    }

    /** So many calls, three deep. */
    static void calls(int n) {
        for (int i = 0; i < n; i++) {
            Hooks.enter(1);
            Hooks.enter(2);
            Hooks.enter(-3);
            Hooks.exit(-3);
            Hooks.exit(2);
            Hooks.exit(1);
        }
    }

    static void nothing() {}

    /** So many calls of each of three methods that are only counted. */
    static void counted(int n) {
        for (int i = 0; i < n; i++) {
            Hooks.count(1);
            Hooks.count(2);
            Hooks.count(-3);
        }
    }

    /** A call of each of so many methods, each as often as its number says at most. */
    private static void countedOnce(int ids, int most) {
        for (int id = 1; id <= ids; id++) {
            for (int i = 0; i < id && i < most; i++) {
                Hooks.count(id << 16);
            }
        }
    }

    /** Threads that live and threads that die count, between records, in what they call, and where the stack ends. */
    static void counts() throws Exception {
        counted(100_000);
        calls(100);
        List<Thread> live = new ArrayList<>();
        CountDownLatch done = new CountDownLatch(8);
        for (int i = 0; i < 8; i++) {
            Thread t = new Thread(() -> {
                counted(5_000);
                countedOnce(6_000, 3);
                done.countDown();
                LockSupport.park();
            });
            t.setDaemon(true);
            t.start();
            live.add(t);
        }
        done.await();
        for (int i = 0; i < 300; i++) {
            Thread t = new Thread(() -> counted(10));
            t.start();
            t.join();
        }
        // What a description of an exception calls is neither recorded nor counted.
        Hooks.enter(9);
        Hooks.error(new RuntimeException() {
            @Override
            public String getMessage() {
                counted(1_000);
                return "m";
            }
        }, 9);
        Values.text(new Object() {
            @Override
            public String toString() {
                counted(1_000);
                return "x";
            }
        }, 0, 16, null, 9);
    }

    /** Calls that are summed up, recorded and counted within one another, in one outermost one. */
    private static void summed(int n) {
        Hooks.start(10);
        for (int i = 0; i < n; i++) {
            Hooks.start(1);
            Hooks.start(2);
            Hooks.stop(2);
            if (i % 4 == 0) {
                Hooks.enter(3);
                Hooks.start(2);
                Hooks.stop(2);
                Hooks.enter(4);
                Hooks.start(5);
                Hooks.stop(5);
                Hooks.exit(4);
                Hooks.exit(3);
            }
            if (i % 3 == 0) {
                Hooks.start(5);
                Hooks.failed(null, 5);
            }
            Hooks.count(11);
            Hooks.stop(1);
        }
        for (int i = 0; i < 40; i++) {
            if (i < 20) {
                Hooks.start(6);
            } else {
                Hooks.stop(6);
            }
        }
        Hooks.stop(10);
    }

    /** Threads that live and threads that die sum up; where ends are missing, more is open than there is room for, or the library itself calls. */
    static void sums() throws Exception {
        summed(20_000);
        CountDownLatch done = new CountDownLatch(8);
        for (int i = 0; i < 8; i++) {
            Thread t = new Thread(() -> {
                summed(1_000);
                done.countDown();
                LockSupport.park();
            });
            t.setDaemon(true);
            t.start();
        }
        done.await();
        for (int i = 0; i < 100; i++) {
            Thread t = new Thread(() -> summed(12));
            t.start();
            t.join();
        }
        Hooks.start(10);
        Hooks.start(8);
        Hooks.start(9);
        Hooks.stop(8);
        Hooks.stop(99);
        for (int i = 0; i < 70_000; i++) {
            Hooks.start(7);
        }
        for (int i = 0; i < 70_000; i++) {
            Hooks.stop(7);
        }
        Hooks.enter(13);
        Hooks.error(new RuntimeException() {
            @Override
            public String getMessage() {
                summed(1);
                return "m";
            }
        }, 13);
        Hooks.stop(10);
    }

    /** The same in virtual threads that change their carriers. */
    static void sumsVirtual() throws Exception {
        Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        List<Thread> all = new ArrayList<>();
        for (int i = 0; i < 500; i++) {
            all.add((Thread) start.invoke(null, (Runnable) () -> {
                Hooks.start(10);
                Hooks.start(8);
                Thread.yield();
                Hooks.enter(3);
                Hooks.start(8);
                Thread.yield();
                Hooks.stop(8);
                Hooks.exit(3);
                Hooks.stop(8);
                Hooks.stop(10);
                summed(40);
            }));
        }
        summed(8);
        for (Thread t : all) {
            t.join();
        }
    }

    /** Sums up, and then stays without another hook. */
    static void sumsAndStays() throws Exception {
        Thread t = new Thread(() -> summed(1_200));
        t.start();
        t.join();
        summed(120);
        stay();
    }

    /** Far more records than the trace has room for, and sums before and after. */
    static void sumsAndMany() {
        summed(120);
        for (int i = 0; i < 100; i++) {
            calls(1_000);
            Hooks.start(1);
            Hooks.stop(1);
        }
    }

    /** More methods than there is memory for their sums. */
    static void sumsOfMany() {
        for (int round = 0; round < 2; round++) {
            for (int id = 1; id <= 20_000; id++) {
                Hooks.start(id);
                Hooks.stop(id);
            }
        }
    }

    /** Counts in virtual threads, many at once. */
    static void countsVirtual() throws Exception {
        Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        List<Thread> all = new ArrayList<>();
        for (int i = 0; i < 2_000; i++) {
            all.add((Thread) start.invoke(null, (Runnable) () -> {
                counted(50);
                Thread.yield();
                counted(50);
            }));
        }
        counted(7);
        for (Thread t : all) {
            t.join();
        }
    }

    /** How many of 1,000 traces that begin are recorded, and whether what goes out from them says so; then what becomes of those that come in. */
    static void sampler() throws Exception {
        int taken = 0;
        boolean sound = true;
        for (int i = 0; i < 1_000; i++) {
            int state = Spans.decide(0, null, null, 7);
            Spans.begin(state, 2, null, 7);
            boolean isTaken = Spans.header(0).endsWith("-03");
            String share = Spans.header(1);
            // The id alone decides (56 bits of it), as in any other process.
            String last = Spans.traceId().substring(18);
            sound &= share == null || isTaken && last.compareTo((share.substring(6) + "00000000000000").substring(0, 14)) >= 0;
            int inner = Spans.decide(0, null, null, 8);
            sound &= (inner == 0) != isTaken;
            Spans.begin(inner, 1, null, 8);
            sound &= Spans.header(0).endsWith(isTaken ? "-03" : "-02") && java.util.Objects.equals(share, Spans.header(1));
            Spans.exit(inner, 8);
            Spans.exit(state, 7);
            taken += isTaken ? 1 : 0;
        }
        System.out.println(taken + (sound ? " sound" : " unsound"));
        for (String line : java.nio.file.Files.readAllLines(java.nio.file.Path.of("cases"))) {
            int state = Spans.decide(0, null, Spans.came(null, 0, line.substring(line.indexOf('=') + 1)), 7);
            Spans.begin(state, 2, null, 7);
            System.out.println(Spans.header(0).substring(54));
            Spans.exit(state, 7);
        }
    }

    private static int span(Object came, int id) {
        int state = Spans.decide(0, null, came, id);
        Spans.begin(state, 5, null, id);
        return state;
    }

    private static void holds(boolean is, String what) {
        if (!is) {
            throw new AssertionError(what);
        }
    }

    /** Contexts that go with objects: what is taken, until when, and how many links a span has. */
    static void queued() throws Exception {
        Object in = Spans.came(null, 0, "00-4bf92f3577b34da6a300000000000000-00f067aa0ba902b7-01");
        List<Object> all = new ArrayList<>();
        for (int i = 0; i < 3_000; i++) {
            int state = span(null, 7);
            all.add(new Object());
            Queued.give(all.get(i));
            Spans.exit(state, 7);
        }
        Object none = new Object();
        Queued.give(none);
        // Outside of a method that takes, none is taken: nothing would end it.
        Queued.take(all.get(0));
        holds(Spans.spanId() == null, "taken outside");
        int outer = span(null, 8);
        String own = Spans.spanId();
        Object method = Queued.open();
        Queued.take(all.get(0));
        String first = Spans.spanId();
        holds(!first.equals(own), "taken");
        int inner = span(null, 9);
        Object within = Queued.open();
        Queued.take(all.get(1));
        holds(!Spans.spanId().equals(first), "taken within");
        Queued.take(all.get(2));
        Queued.take(none);
        int innermost = span(null, 9);
        Queued.take(null);
        Queued.take(all.get(3));
        Spans.exit(innermost, 9);
        Queued.done(within);
        Spans.exit(inner, 9);
        holds(Spans.spanId().equals(first), "what was taken around goes on");
        Queued.take(none);
        holds(Spans.spanId().equals(own), "an object without a context takes none");
        Queued.take(all.get(1));
        // The span of the method ends in front of what follows its calls.
        Spans.exit(outer, 8);
        holds(Spans.spanId() == null, "over with the span");
        Queued.done(method);
        holds(Spans.spanId() == null, "over with the method");
        Object turn = Queued.begin(all.get(0));
        holds(Spans.spanId().equals(first), "a method runs in it");
        Queued.done(turn);
        Queued.done(Queued.begin(none));
        holds(Spans.spanId() == null, "and nothing behind it");
        // What is given again, without a context, has none.
        Queued.give(all.get(0));
        holds(Queued.begin(all.get(0)) == null, "given again");
        Spans.exit(span(Queued.link(in), 10), 10);
        Spans.exit(span(Queued.links(Queued.link(in), all), 11), 11);
        Spans.exit(span(Queued.links(null, all.toArray()), 11), 11);
        Spans.exit(span(Queued.links(null, new java.util.AbstractList<Object>() {
            @Override
            public Object get(int i) {
                throw new IllegalStateException("unruly");
            }

            @Override
            public int size() {
                return 1;
            }
        }), 12), 12);
        Spans.exit(span(Queued.parent(in, all.get(5)), 13), 13);
        holds(Queued.link(Spans.came(null, 0, "00-hostile")) == null, "what is none is no link");
    }

    /** Spans below headers that come in, a line of the file each ({@code name=value; name=value}): says what goes out from them. */
    static void propagators() throws Exception {
        for (String line : java.nio.file.Files.readAllLines(java.nio.file.Path.of("cases"))) {
            java.util.Map<String, String> in = new java.util.HashMap<>();
            for (String header : line.split("; ")) {
                in.put(header.replaceFirst("=.*", ""), header.replaceFirst("^[^=]*=", ""));
            }
            Object came = null;
            for (int i = 0; i < 10; i++) {
                String name = Spans.asks(i);
                came = Spans.came(came, i, name == null ? null : in.get(name));
                if (!Spans.asksAgain(i).equals(name == null ? "traceparent" : name)) {
                    throw new AssertionError("asked again");
                }
            }
            int state = Spans.decide(0, null, came, 7);
            Spans.begin(state, 2, null, 7);
            List<String> out = new ArrayList<>();
            for (int i = 0; i < 10; i++) {
                if (Spans.header(i) != null) {
                    out.add(Spans.sends(i) + "=" + Spans.header(i));
                }
            }
            String trace = Spans.traceId();
            boolean isNew = !line.replace("-", "").contains(trace.replaceFirst("^0+", ""));
            String said = String.join("; ", out).replace(Spans.spanId(), "*");
            if (isNew) {
                said = said.replace(trace, "new").replace(trace.substring(0, 8) + "-" + trace.substring(8), "new");
            }
            System.out.println(said);
            Spans.exit(state, 7);
            if (Spans.traceId() != null) {
                throw new AssertionError("a context is left");
            }
        }
    }

    /**
     * Does what lines of its input say. {@code round N}: so many calls of each method in each of four threads; {@code virtual N}: so many
     * in each of 50 virtual threads; {@code run}: calls from now on in four threads; {@code stop}: ends that, and says how many
     * there were; {@code enter ID}, {@code exit ID}, {@code error ID}, {@code decide ID}, {@code begin ID}: that hook; {@code value ID TEXT
     * NUMBER}: that value of a begin; {@code often N}: many short calls in so many long ones; {@code dive ID}: calls of it in a call of it, to
     * the end of the stack.
     */
    static void switched() throws Exception {
        java.io.BufferedReader in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
        Hooks.enter(1);
        java.util.concurrent.atomic.AtomicBoolean on = new java.util.concurrent.atomic.AtomicBoolean(true);
        java.util.concurrent.atomic.AtomicLong rounds = new java.util.concurrent.atomic.AtomicLong();
        List<Thread> running = new ArrayList<>();
        // Of the open calls of this thread.
        List<Integer> ids = new ArrayList<>();
        List<Integer> states = new ArrayList<>();
        System.out.println("ready");
        for (String line; (line = in.readLine()) != null;) {
            String[] words = line.split(" ");
            int n = words.length > 1 && Character.isDigit(words[1].charAt(0)) ? Integer.parseInt(words[1]) : 0;
            switch (words[0]) {
                case "round" -> {
                    List<Thread> all = new ArrayList<>();
                    for (int i = 0; i < 4; i++) {
                        all.add(new Thread(() -> rounds(n)));
                    }
                    join(all);
                }
                case "virtual" -> {
                    Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
                    List<Thread> all = new ArrayList<>();
                    for (int i = 0; i < 50; i++) {
                        all.add((Thread) start.invoke(null, (Runnable) () -> rounds(n)));
                    }
                    for (Thread t : all) {
                        t.join();
                    }
                }
                case "run" -> {
                    boolean trees = words.length > 1;
                    boolean virtual = Runtime.version().feature() >= 21;
                    for (int i = 0; i < 4; i++) {
                        Runnable work = () -> {
                            while (on.get()) {
                                if (trees) {
                                    requests(1);
                                } else {
                                    rounds(1);
                                }
                                rounds.incrementAndGet();
                                Thread.yield();
                            }
                        };
                        if (virtual && i > 1) {
                            running.add((Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, work));
                        } else {
                            running.add(new Thread(work));
                            running.get(i).start();
                        }
                    }
                }
                case "stop" -> {
                    on.set(false);
                    for (Thread t : running) {
                        t.join();
                    }
                }
                case "enter" -> {
                    ids.add(n);
                    states.add(Switched.enter(as(n), n));
                }
                case "exit", "error" -> {
                    int at = ids.lastIndexOf(n);
                    ids.remove(at);
                    if (words[0].equals("exit")) {
                        Switched.exit(states.remove(at), n);
                    } else {
                        Switched.error(new IllegalStateException("as told"), states.remove(at), n);
                    }
                }
                case "decide" -> {
                    ids.add(n);
                    states.add(Switched.decide(as(n), n));
                }
                case "value" -> Values.value(words[2], Integer.parseInt(words[3]) << 16, 128, null, n, states.get(ids.lastIndexOf(n)));
                case "begin" -> Switched.begin(states.get(ids.lastIndexOf(n)), n);
                case "spin" -> {
                    Thread t = new Thread(() -> {
                        // Nothing else is called: compilers may take out of the loop what they believe does not change.
                        for (int state = 0; state == 0;) {
                            state = Switched.enter(as(n), n);
                            Switched.exit(state, n);
                        }
                    });
                    running.add(t);
                    t.start();
                }
                case "plug" -> {
                    Thread t = new Thread(LockSupport::park);
                    t.setDaemon(true);
                    t.setContextClassLoader(new URLClassLoader(new URL[] {new File(words[1]).toURI().toURL()}));
                    t.start();
                }
                case "often" -> often(n);
                case "straight" -> {
                    for (int i = 0; i < n; i++) {
                        Switched.exit(Switched.enter(1_000 << 8 | 0x16, 7), 7); // counted, under auto
                    }
                }
                case "failing" -> {
                    for (int i = 0; i < n; i++) {
                        Switched.error(FAILURE, Switched.enter(1_000 << 8 | 0x15, 8), 8); // summed up
                    }
                }
                case "dive", "plunge" -> {
                    boolean within = words[0].equals("dive");
                    Thread t = new Thread(null, () -> dives(n, within), words[0], 300_000);
                    t.start();
                    t.join();
                }
                case "requests" -> {
                    List<Thread> all = new ArrayList<>();
                    for (int i = 0; i < 4; i++) {
                        all.add(new Thread(() -> requests(n), "requests " + i));
                    }
                    join(all);
                    if (Runtime.version().feature() >= 21) {
                        Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
                        Class<?> type = Class.forName("java.lang.Thread$Builder");
                        Method start = type.getMethod("start", Runnable.class);
                        all.clear();
                        for (int i = 0; i < 50; i++) {
                            type.getMethod("name", String.class).invoke(builder, "requests v" + i);
                            all.add((Thread) start.invoke(builder, (Runnable) () -> requests(n)));
                        }
                        for (Thread t : all) {
                            t.join();
                        }
                    }
                }
                case "second" -> {
                    for (int i = 0; i < n; i++) {
                        Thread.sleep(i % 100 == 0 ? 1 : 0);
                        Hooks.enter(1);
                        Hooks.exit(1);
                        Switched.exit(Switched.enter(as(16), 16), 16);
                    }
                }
                case "seconds" -> {
                    List<Thread> all = new ArrayList<>();
                    for (int i = 0; i < 4; i++) {
                        all.add(new Thread(() -> seconds(n)));
                    }
                    join(all);
                    Thread.sleep(250); // the next one is taken
                    Switched.exit(Switched.enter(as(16), 16), 16);
                }
                case "allocates" -> {
                    seconds(100_000);
                    requests(1_000);
                    all(100_000); // several chunks
                    com.sun.management.ThreadMXBean bean = (com.sun.management.ThreadMXBean) java.lang.management.ManagementFactory.getThreadMXBean();
                    long before = bean.getThreadAllocatedBytes(Thread.currentThread().getId());
                    seconds(100_000);
                    all(100_000);
                    for (int i = 0; i < 100_000; i++) {
                        Switched.error(FAILURE, Switched.enter(as(15), 15), 15);
                    }
                    rounds.set(bean.getThreadAllocatedBytes(Thread.currentThread().getId()) - before);
                }
                default -> throw new IllegalStateException(line);
            }
            System.out.println(rounds.get());
        }
        Hooks.exit(1);
    }

    private static final int[] NUMBERS = {10, 10, 1_000, 1, (1 << 24) - 1, 5};

    /**
     * What the rules say of a method: 2 and 4 are of level info, 3 of debug, 5 of debug and summed up, 6 of info and counted. Calls of
     * 11 to 16 are sampled: of the first two 1/10, of the others 1/1000, all, as good as none, and 5 a second.
     */
    private static int as(int id) {
        if (id > 10) {
            return NUMBERS[id - 11] << 8 | (id == 16 ? 0x98 : 0x18);
        }
        return id == 3 || id == 9 ? 0x20 : id == 5 ? 0x21 : id == 6 ? 0x12 : 0x10;
    }

    /** Calls of 8, which take longer than 1 ms, with many short ones of 7 in each. */
    private static void often(int n) {
        int rules = 1_000 << 8 | 0x14;
        for (int i = 0; i < n; i++) {
            int outer = Switched.enter(rules, 8);
            long end = System.nanoTime() + 2_000_000;
            while (System.nanoTime() < end) {
                Thread.onSpinWait();
            }
            for (int k = 0; k < 20_000; k++) {
                Switched.exit(Switched.enter(rules, 7), 7);
            }
            // One that fails, and one that takes its time, of a method that is summed up.
            Switched.error(FAILURE, Switched.enter(rules | 1, 8), 8);
            int slow = Switched.enter(rules | 1, 8);
            long until = System.nanoTime() + 1_100_000;
            while (System.nanoTime() < until) {
                Thread.onSpinWait();
            }
            Switched.exit(slow, 8);
            Switched.exit(outer, 8);
        }
    }

    /** Each of its sampled calls has the same below it, and a value. In each is a call that is always recorded, and around it, too. */
    private static void requests(int n) {
        for (int i = 0; i < n; i++) {
            Hooks.enter(1);
            int root = 11 + i % 2;
            int outer = Switched.decide(as(root), root);
            Values.value(i, 0, 128, null, root, outer);
            Switched.begin(outer, root);
            Hooks.enter(1);
            Hooks.exit(1);
            int inner = Switched.enter(as(12), 12);
            int again = Switched.enter(as(11), 11);
            int rare = Switched.enter(as(13), 13);
            Switched.error(FAILURE, rare, 13);
            Switched.exit(again, 11);
            Switched.exit(inner, 12);
            if (i % 3 == 0) {
                Switched.error(FAILURE, outer, root);
            } else {
                Switched.exit(outer, root);
            }
            Hooks.exit(1);
        }
    }

    private static void seconds(int n) {
        for (int i = 0; i < n; i++) {
            Switched.exit(Switched.enter(as(16), 16), 16);
        }
    }

    private static void all(int n) {
        for (int i = 0; i < n; i++) {
            Switched.exit(Switched.enter(as(14), 14), 14);
        }
    }

    private static void dives(int id, boolean within) {
        for (int i = 0; i < 20; i++) {
            int state = within ? Switched.enter(as(id), id) : 0;
            try {
                dive(id);
            } catch (StackOverflowError expected) {
                // up again
            }
            Hooks.enter(1);
            Hooks.exit(1);
            Switched.exit(state, id);
        }
        all(1);
    }

    private static int dive(int id) {
        int state = Switched.enter(as(id), id);
        Switched.exit(state, id);
        return 1 + dive(id);
    }

    private static void join(List<Thread> all) throws InterruptedException {
        for (Thread t : all) {
            t.start();
        }
        for (Thread t : all) {
            t.join();
        }
    }

    /** In a call that cannot be switched: of two aspects, one of them recursive, one that is to be summed up and one that is to be counted. */
    private static void rounds(int n) {
        for (int i = 0; i < n; i++) {
            Hooks.enter(1);
            int outer = Switched.enter(as(2), 2);
            int three = Switched.enter(as(3), 3);
            int five = Switched.enter(as(5), 5);
            int inner = Switched.enter(as(2), 2);
            int six = Switched.enter(as(6), 6);
            Switched.exit(six, 6);
            Switched.exit(inner, 2);
            Switched.exit(five, 5);
            Switched.error(FAILURE, three, 3);
            Switched.exit(outer, 2);
            Hooks.exit(1);
        }
    }

    /** Counts, and then stays without another hook. */
    static void countsAndStays() throws Exception {
        Thread t = new Thread(() -> counted(12_345));
        t.start();
        t.join();
        counted(100);
        stay();
    }

    /** Far more records than the trace has room for, and counts before and after. */
    static void countsAndMany() {
        counted(1_000);
        for (int i = 0; i < 100; i++) {
            calls(1_000);
            counted(10);
        }
    }

    /** What adapters of own hooks do, in a process that is traced or not; the trace has one call. */
    static void guard() throws Exception {
        Hooks.enter(1);
        Hooks.exit(1);
        guardAlone();
    }

    /** Some hooks fail 1,010 times in all. */
    static void guardAlone() throws Exception {
        flags();
        List<Thread> threads = new ArrayList<>();
        threads.add(new Thread(Programs::flags));
        try {
            Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
            Method unstarted = Class.forName("java.lang.Thread$Builder").getMethod("unstarted", Runnable.class);
            threads.add((Thread) unstarted.invoke(builder, (Runnable) Programs::flags));
        } catch (NoSuchMethodException before21) {
            // platform threads only
        }
        boolean[] busy = Guard.begin();
        for (Thread thread : threads) {
            thread.start();
            thread.join();
        }
        busy[0] = false;
        for (int i = 0; i < 1_000; i++) {
            Guard.failed(new IllegalStateException("no " + i), "acme.Sql.begin");
        }
        for (int i = 0; i < 3; i++) {
            Guard.failed(new RuntimeException() {
                @Override
                public String toString() {
                    throw new IllegalStateException();
                }
            }, "acme.Sql.unruly");
            Guard.failed(new RuntimeException("x".repeat(2_000)), "acme.Sql.long");
        }
        Guard.failed(new RuntimeException() {
            @Override
            public String toString() {
                Guard.failed(this, "acme.Sql.again");
                return "again";
            }
        }, "acme.Sql.again");
        Guard.failed(new OutOfMemoryError("all"), "acme.Sql.memory");
        Guard.failed(new StackOverflowError(), "acme.Sql.stack");
        boolean passed = false;
        try {
            Guard.failed((Throwable) Class.forName("java.lang.ThreadDeath").getConstructor().newInstance(), "acme.Sql.stopped");
        } catch (ClassNotFoundException newer) {
            passed = true;
        } catch (Error stop) {
            passed = stop.getClass().getName().equals("java.lang.ThreadDeath");
        }
        if (!passed) {
            throw new AssertionError("what stops a thread must pass");
        }
    }

    private static void flags() {
        for (int i = 0; i < 3; i++) {
            boolean[] busy = Guard.begin();
            if (busy == null || Guard.begin() != null) {
                throw new AssertionError("one hook at a time");
            }
            busy[0] = false;
        }
    }

    /** More hooks fail than are told. */
    static void guardMany() {
        for (int i = 0; i < 3_000; i++) {
            Guard.failed(new IllegalStateException("no"), "acme.Sql.hook" + i);
        }
    }

    /** Hooks that begin, end and fail where the stack ends. */
    static void guardOverflow() throws Exception {
        Runnable storm = () -> {
            for (int i = 0; i < 40; i++) {
                try {
                    guarded(i % 7);
                    throw new AssertionError();
                } catch (StackOverflowError expected) {
                    // again
                }
                boolean[] busy = Guard.begin();
                if (busy == null) {
                    throw new AssertionError("a flag stays behind after overflow " + i);
                }
                busy[0] = false;
            }
        };
        Throwable[] thrown = new Throwable[1];
        for (int i = 0; i < 3; i++) {
            Thread thread = new Thread(null, () -> {
                try {
                    storm.run();
                } catch (Throwable t) {
                    thrown[0] = t;
                }
            }, "storm", 512 << 10);
            thread.start();
            thread.join();
        }
        if (thrown[0] != null) {
            throw new AssertionError(thrown[0]);
        }
    }

    private static final RuntimeException FAILURE = new IllegalStateException("no");

    /** As an adapter does. */
    private static int guarded(int n) {
        boolean[] busy = null;
        try {
            busy = Guard.begin();
        } catch (VirtualMachineError deep) {
            // without the hook
        }
        if (busy != null) {
            if (n % 3 == 0) {
                try {
                    Guard.failed(FAILURE, "acme.Sql.deep");
                } catch (VirtualMachineError deep) {
                    // not counted
                }
            }
            busy[0] = false;
        }
        return guarded(n + 1) + 1;
    }

    /**
     * Several threads, interrupted 200 times a second each while the file grows: as fast as they can, but no faster than
     * fills 2.8 GB in the time that is given.
     */
    /** Somebody moves the trace away and puts another file in its place, while interrupts close the trace's channels. */
    static void planted() throws Exception {
        calls(1);
        java.nio.file.Path trace = java.nio.file.Paths.get(System.getProperty("weave.trace"));
        java.nio.file.Files.move(trace, trace.resolveSibling("moved"));
        try (java.io.RandomAccessFile other = new java.io.RandomAccessFile(trace.toFile(), "rw")) {
            other.setLength(2L << 30); // of which nothing is there
        }
        java.nio.file.attribute.FileTime before = java.nio.file.attribute.FileTime.fromMillis(0);
        java.nio.file.Files.setLastModifiedTime(trace, before);
        AtomicBoolean on = new AtomicBoolean(true);
        Thread storm = new Thread(() -> {
            while (on.get()) {
                Thread.currentThread().getThreadGroup().getParent().interrupt();
            }
        });
        storm.start();
        calls(2_000_000);
        on.set(false);
        while (storm.isAlive()) {
            LockSupport.parkNanos(1_000_000);
        }
        Thread.interrupted();
        if (!before.equals(java.nio.file.Files.getLastModifiedTime(trace))) {
            throw new AssertionError("the other file has changed");
        }
    }

    static void interruptedGrowth() throws Exception {
        int seconds = Integer.getInteger("test.seconds", 3);
        double pace = 2.8e9 / 2 / 48 / seconds / 1e9; // calls of a thread in a nanosecond
        long start = System.nanoTime();
        AtomicBoolean on = new AtomicBoolean(true);
        AtomicLong calls = new AtomicLong();
        List<Thread> all = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            Thread t = new Thread(() -> {
                long n = 0;
                for (; on.get(); n += 50) {
                    calls(50);
                    while (n > pace * (System.nanoTime() - start)) {
                        Thread.interrupted();
                        LockSupport.parkNanos(1_000_000);
                    }
                }
                calls.addAndGet(n);
            });
            all.add(t);
            t.start();
        }
        while (System.nanoTime() - start < seconds * 1_000_000_000L) {
            all.forEach(Thread::interrupt);
            Thread.currentThread().getThreadGroup().getParent().interrupt(); // whoever may be interrupted is
            Thread.interrupted();
            // An interrupt is a permit to go on, too: more than one pause.
            for (long next = System.nanoTime() + 5_000_000L; System.nanoTime() < next;) {
                LockSupport.parkNanos(5_000_000);
            }
        }
        Thread.interrupted();
        on.set(false);
        for (Thread t : all) {
            t.join();
        }
        System.out.println(calls);
    }

    /** Takes all memory, and returns what holds it: a list of blocks, the smallest first. */
    private static Object[] fill() {
        Object[] full = null;
        for (int size = 1 << 20; size >= 16; size /= 4) {
            try {
                while (true) {
                    Object[] more = new Object[size / 4];
                    more[0] = full;
                    full = more;
                }
            } catch (OutOfMemoryError e) {
                // then smaller ones
            }
        }
        return full;
    }

    /** Code comes, and the library looks for its names, while the heap is full or nearly so; then there is room again. */
    static void noMemoryForNames() throws Exception {
        calls(1);
        ClassLoader before = Thread.currentThread().getContextClassLoader();
        int started = 0;
        for (int round = 0; round < 20; round++) {
            ClassLoader loader = new URLClassLoader(new URL[0], before);
            Thread t = new Thread(() -> calls(10));
            t.setContextClassLoader(loader);
            Object[] full = fill();
            for (int i = 0; i < round * 60 && full != null; i++) {
                full = (Object[]) full[0]; // now there is a little more each time
            }
            try {
                t.start();
                started++;
                t.join();
            } catch (OutOfMemoryError e) {
                // HotSpot's own
            }
            if (full != null && full.length == 1) {
                throw new AssertionError(); // it is held till here
            }
        }
        calls(1_000);
        System.out.println(started);
    }

    /** Exceptions by turns while the heap is full; says how many there were, and how often the collector ran for them. */
    static void noMemoryForErrors() throws Exception {
        IllegalStateException[] all = {new IllegalStateException("a"), new IllegalStateException("b")};
        for (int i = 0; i < 50_000; i++) {
            caught(1, all[i & 1]); // HotSpot compiles nothing without memory, but tries again and again: two collections each
        }
        java.lang.management.GarbageCollectorMXBean[] collectors =
            java.lang.management.ManagementFactory.getGarbageCollectorMXBeans().toArray(
                new java.lang.management.GarbageCollectorMXBean[0]);
        long before = collections(collectors);
        Object[] full = fill();
        long filled = collections(collectors);
        for (int i = 0; i < 3_000; i++) {
            caught(1, all[i & 1]);
        }
        long after = collections(collectors);
        if (full[0] == null || filled == before) {
            throw new AssertionError("the heap is not full");
        }
        full = null;
        Thread.sleep(1_000);
        caught(1, all[0]);
        System.out.println(after - filled);
    }

    private static long collections(java.lang.management.GarbageCollectorMXBean[] collectors) {
        long all = 0;
        for (java.lang.management.GarbageCollectorMXBean collector : collectors) {
            all += collector.getCollectionCount();
        }
        return all;
    }

    /** The heap is full while the file grows; then there is room again. */
    static void noMemory() throws Exception {
        calls(50_000); // HotSpot compiles nothing without memory, but tries again and again
        Object[] full = fill();
        calls(200_000);
        if (full[0] == null) {
            throw new AssertionError("the heap is not full");
        }
        full = null;
        // Nobody looks for room more often than ten times a second while there is none.
        Thread.sleep(2_000);
        Thread after = new Thread(() -> calls(200_000), "after");
        after.start();
        after.join();
    }

    /** 20 threads are stopped while they record, some while the file grows. */
    @SuppressWarnings({"deprecation", "removal"})
    static void stopped() throws Exception {
        calls(1); // what strikes while the JDK's own classes are initialised breaks them for good
        int again = 0;
        for (int round = 0; round < 4; round++) {
            List<Thread> all = new ArrayList<>();
            for (int i = 0; i < 20; i++) {
                Thread t = new Thread(() -> {
                    while (true) {
                        calls(100);
                        caught(2, new IllegalStateException("x"));
                    }
                });
                t.setUncaughtExceptionHandler((x, e) -> {});
                t.start();
                all.add(t);
            }
            Thread.sleep(100);
            for (Thread t : all) {
                t.stop();
            }
            for (Thread t : all) {
                // HotSpot itself loses a few that strike while it links or compiles.
                for (t.join(10_000); t.isAlive(); t.join(10_000)) {
                    again++;
                    t.stop();
                }
            }
        }
        if (again > 10) {
            System.out.println("of 80 threads " + again + " had to be stopped again");
            Runtime.getRuntime().halt(1);
        }
        calls(999);
    }

    /** Somebody cuts the file off while threads record: no thread is inside a hook then, or any may be ("test.work"). Prints what escaped. */
    static void truncated() throws Exception {
        calls(1); // the file is there
        boolean held = !Boolean.getBoolean("test.work");
        AtomicBoolean on = new AtomicBoolean(true);
        AtomicBoolean hold = new AtomicBoolean();
        CountDownLatch holding = new CountDownLatch(6);
        java.util.concurrent.ConcurrentHashMap<Thread, Integer> escaped = new java.util.concurrent.ConcurrentHashMap<>();
        Thread.UncaughtExceptionHandler count = (t, e) -> {
            escaped.merge(t, 1, Integer::sum);
            if (!(e instanceof InternalError)) {
                e.printStackTrace();
            }
        };
        List<Thread> all = new ArrayList<>();
        Runnable[] works = {
            () -> calls(100), () -> recurse(50), () -> caught(3, new IllegalStateException("x")), () -> Hooks.leaf(4),
            () -> left(3, new IllegalStateException("y")), () -> {
                Thread one = new Thread(() -> calls(3));
                one.setUncaughtExceptionHandler(count);
                one.start();
                try {
                    one.join(); // else a busy machine has thousands of them
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
            },
        };
        AtomicLong[] rounds = new AtomicLong[works.length];
        for (int i = 0; i < works.length; i++) {
            Runnable work = works[i];
            AtomicLong done = rounds[i] = new AtomicLong();
            Thread t = new Thread(() -> {
                for (; on.get(); done.incrementAndGet()) {
                    if (hold.get()) {
                        holding.countDown();
                        while (hold.get()) {
                            LockSupport.parkNanos(100_000);
                        }
                    }
                    try {
                        work.run();
                    } catch (IllegalStateException mine) {
                        // as it should be
                    } catch (Throwable e) {
                        count.uncaughtException(Thread.currentThread(), e);
                    }
                }
            });
            t.setUncaughtExceptionHandler(count);
            all.add(t);
            t.start();
        }
        Thread.sleep(Integer.getInteger("test.wait", 700));
        if (held) {
            hold.set(true);
            holding.await();
            while (Thread.getAllStackTraces().keySet().stream().anyMatch(
                t -> t.getName().equals("weave-trace") && t.getState() != Thread.State.WAITING)) {
                Thread.sleep(1); // nor does the library itself write
            }
        }
        // Each goes on for a while, however busy the machine is.
        try (java.io.RandomAccessFile file = new java.io.RandomAccessFile(System.getProperty("weave.trace"), "rw")) {
            int length = Integer.getInteger("test.length", 0);
            file.setLength(length);
            hold.set(false);
            for (int i = 0; i < works.length; i++) {
                // A thread whose fault came behind its `catch` goes on no more.
                for (long end = rounds[i].get() + 100; rounds[i].get() < end && all.get(i).isAlive();) {
                    Thread.sleep(1);
                    if (file.length() > length) {
                        file.setLength(length); // it was about to grow
                    }
                }
            }
        }
        on.set(false);
        for (Thread t : all) {
            t.join();
        }
        System.out.println(escaped.size() + " " + escaped.values().stream().mapToInt(n -> n).max().orElse(0));
    }

    /** The first hook of all is called where the stack has ended. */
    static void firstInOverflow() throws Exception {
        // Loading the first class of a jar is the class loader's matter.
        Class.forName("weave.runtime.Hooks", false, Programs.class.getClassLoader());
        Thread t = new Thread(null, () -> sink(0), "deep", 400_000);
        t.start();
        t.join();
        calls(1_000);
    }

    /** Daemon threads lose records while the process ends. */
    static void lateLosses() throws Exception {
        CountDownLatch begun = new CountDownLatch(3);
        for (int i = 0; i < 3; i++) {
            Thread t = new Thread(() -> {
                calls(1); // each gets one of the three chunks
                begun.countDown();
                while (true) {
                    if (begun.getCount() == 0) {
                        calls(100);
                    }
                    LockSupport.parkNanos(100_000);
                }
            });
            t.setDaemon(true);
            t.start();
        }
        Thread.sleep(700);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            try {
                Thread.sleep(700);
            } catch (InterruptedException e) {
                // then not
            }
        }));
    }

    /** Thread numbers beyond what an int holds, and past its end. */
    static void manyNumbers() throws Exception {
        calls(1);
        for (int preset : new int[] {Integer.MAX_VALUE - 20, -60}) {
            Access.threads(preset);
            for (int i = 0; i < 40; i++) {
                Thread t = new Thread(() -> calls(5_000));
                t.start();
                t.join();
            }
        }
    }

    /** Code that comes later, through loaders of its own; "late" in the properties says which. */
    static void late() throws Exception {
        calls(1);
        Thread.sleep(700);
        quiet();
        String[] late = System.getProperty("test.late").split(File.pathSeparator);
        List<java.lang.ref.WeakReference<ClassLoader>> loaders = new ArrayList<>();
        for (String entry : late) {
            loaders.add(new java.lang.ref.WeakReference<>(plug(entry)));
        }
        for (int i = 0; i < 3_000 && loaders.stream().anyMatch(l -> l.get() != null); i++) {
            System.gc();
            Thread.sleep(20);
        }
        if (loaders.stream().anyMatch(l -> l.get() != null)) {
            throw new AssertionError("a loader is held");
        }
    }

    private static ClassLoader plug(String entry) throws Exception {
        URLClassLoader own = new URLClassLoader(new URL[] {new File(entry).toURI().toURL()}, Programs.class.getClassLoader());
        ((Runnable) own.loadClass("Plug").getDeclaredConstructor().newInstance()).run();
        Thread.sleep(500);
        quiet();
        return own;
    }

    /** A web application that brings the library: its loader goes, whatever threads have called its hooks. */
    static void webApplication() throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        for (int i = 0; i < 2; i++) {
            pool.submit(() -> 0).get(); // a thread keeps the context class loader that it is made with
        }
        ClassLoader before = Thread.currentThread().getContextClassLoader();
        java.lang.ref.WeakReference<ClassLoader> gone = deploy(pool);
        Thread.currentThread().setContextClassLoader(before);
        for (int i = 0; i < 3_000 && gone.get() != null; i++) {
            System.gc();
            Thread.sleep(20);
        }
        if (gone.get() != null) {
            if (System.getProperty("test.dump") != null) {
                java.lang.management.ManagementFactory.getPlatformMXBean(
                    com.sun.management.HotSpotDiagnosticMXBean.class).dumpHeap(System.getProperty("test.dump"), true);
            }
            throw new AssertionError("the web application's loader is held");
        }
        pool.shutdown();
    }

    private static java.lang.ref.WeakReference<ClassLoader> deploy(ExecutorService pool) throws Exception {
        List<URL> urls = new ArrayList<>();
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
            urls.add(new File(entry).toURI().toURL());
        }
        ClassLoader own = new URLClassLoader(urls.toArray(new URL[0]), ClassLoader.getPlatformClassLoader());
        Thread.currentThread().setContextClassLoader(own);
        Method calls = own.loadClass("Programs").getDeclaredMethod("calls", int.class);
        calls.setAccessible(true);
        calls.invoke(null, 30_000);
        Method counted = own.loadClass("Programs").getDeclaredMethod("counted", int.class);
        counted.setAccessible(true);
        counted.invoke(null, 1_000);
        List<java.util.concurrent.Future<?>> all = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            all.add(pool.submit(() -> {
                try {
                    calls.invoke(null, 10_000);
                    counted.invoke(null, 500);
                } catch (ReflectiveOperationException e) {
                    throw new AssertionError(e);
                }
            }));
        }
        for (java.util.concurrent.Future<?> f : all) {
            f.get();
        }
        return new java.lang.ref.WeakReference<>(own);
    }

    static void one() {
        calls(1);
    }

    static void many() {
        calls(100_000); // 600,000 records
    }

    /** As if on Android, where an app gets neither a command line nor an environment. */
    static void android() {
        System.setProperty("java.vm.name", "Dalvik");
        System.setProperty("java.io.tmpdir", System.getProperty("test.tmpdir"));
        calls(10_000);
        if (android.os.StrictMode.open() != 0) {
            throw new IllegalStateException("StrictMode: " + android.os.StrictMode.open());
        }
    }

    static void threads() throws Exception {
        Thread a = new Thread(() -> calls(50_000), "α");
        Thread b = new Thread(() -> calls(50_000), "b".repeat(300));
        b.setDaemon(true);
        a.start();
        b.start();
        a.join();
        b.join();
        recurse(1_000);
    }

    /** Eight threads that live at once. */
    static void crowd() throws Exception {
        java.util.concurrent.CyclicBarrier all = new java.util.concurrent.CyclicBarrier(8);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            Thread t = new Thread(() -> {
                try {
                    calls(100);
                    all.await();
                } catch (Exception e) {
                    throw new AssertionError(e);
                }
            });
            threads.add(t);
            t.start();
        }
        for (Thread t : threads) {
            t.join();
        }
    }

    static void recurse(int depth) {
        Hooks.enter(depth);
        if (depth > 1) {
            recurse(depth - 1);
        }
        Hooks.exit(depth);
    }

    static void raise(int depth, Throwable t) throws Throwable {
        Hooks.enter(depth);
        try {
            if (depth == 1) {
                throw t;
            }
            raise(depth - 1, t);
        } catch (Throwable e) {
            Hooks.error(e, depth);
            throw e;
        }
        Hooks.exit(depth);
    }

    static void caught(int depth, Throwable t) {
        try {
            raise(depth, t);
        } catch (Throwable e) {
            if (e != t) {
                throw new AssertionError(e);
            }
        }
    }

    /** As in a dex file: both ways out meet in one call. */
    static int left(int depth, Throwable t) {
        Hooks.enter(depth);
        int result = 0;
        Throwable thrown = null;
        try {
            if (depth == 1 && t != null) {
                throw Programs.<RuntimeException>unchecked(t);
            }
            result = depth == 1 ? 1 : 1 + left(depth - 1, t);
        } catch (Throwable e) {
            thrown = e;
        }
        Hooks.leave(thrown, depth);
        return result;
    }

    /** 1 call by itself, then 30,000 one by one and 30,000 within another: chunks end in front of leaves, and within. */
    static void leaf() {
        Hooks.leaf(1);
        for (int i = 0; i < 30_000; i++) {
            Hooks.leaf(2);
        }
        Hooks.enter(3);
        for (int i = 0; i < 30_000; i++) {
            Hooks.leaf(4);
        }
        Hooks.exit(3);
    }

    @SuppressWarnings("unchecked")
    static <T extends Throwable> T unchecked(Throwable t) throws T {
        throw (T) t;
    }

    /** 7 returns; then 4 exceptions, 3 deep. */
    static void leaves() {
        if (left(7, null) != 7) {
            throw new AssertionError("the result");
        }
        Throwable[] all = {new IllegalStateException("a"), new Error(), new java.io.IOException("checked"), new Unruly(1)};
        for (Throwable t : all) {
            StackTraceElement[] trace = t.getStackTrace();
            try {
                left(3, t);
                throw new AssertionError("nothing was thrown");
            } catch (Throwable e) {
                if (e != t || !java.util.Arrays.equals(trace, e.getStackTrace()) || e.getSuppressed().length > 0) {
                    throw new AssertionError("not as it was thrown", e);
                }
            }
        }
    }

    static final class Unruly extends RuntimeException {
        final int how;

        Unruly(int how) {
            this.how = how;
        }

        @Override
        public String getMessage() {
            Hooks.enter(77);
            try {
                calls(10);
                caught(2, new IllegalStateException("inside"));
                if (how == 1) {
                    throw this;
                }
                String message = how == 2 ? getMessage() : "recorded";
                Hooks.exit(77);
                return message;
            } catch (Throwable t) {
                Hooks.error(t, 77);
                throw t;
            }
        }
    }

    static void exceptions() {
        RuntimeException a = new RuntimeException("a");
        RuntimeException b = new RuntimeException("ä€𝄞".repeat(400));
        caught(5, a);
        caught(2, b);
        caught(2, a);
        caught(2, a);
        caught(1, new Error());
        caught(1, new Unruly(0));
        caught(1, new Unruly(1));
        caught(1, new Unruly(2)); // recurses until the stack is full
        calls(1);
    }

    /** Calculates, allocates and collects for a second, and until there are four samples if there are to be any. */
    static void busy() throws Exception {
        long end = System.nanoTime() + 1_000_000_000L;
        Object kept = null;
        while (System.nanoTime() < end || !System.getProperty("weave.trace.sample").equals("off")
            && new TraceReader(java.nio.file.Path.of(System.getProperty("weave.trace"))).samples.size() < 4) {
            calls(100);
            kept = new byte[1 << 20];
            System.gc();
        }
        if (kept.hashCode() == 1) {
            System.out.println();
        }
    }

    static void gap() throws Exception {
        Hooks.enter(1);
        Thread.sleep(1_200);
        Hooks.exit(1);
    }

    static void shortThreads() throws Exception {
        for (int i = 0; i < 20_000; i += 10) {
            Thread[] all = new Thread[10];
            for (int k = 0; k < all.length; k++) {
                all[k] = new Thread(() -> calls(2));
                all[k].start();
            }
            for (Thread t : all) {
                t.join();
            }
        }
    }

    static void waves() throws Exception {
        for (int wave = 0; wave < 20; wave++) {
            List<Thread> all = new ArrayList<>();
            for (int i = 0; i < 50; i++) {
                Thread t = new Thread(() -> calls(200));
                all.add(t);
                t.start();
            }
            for (Thread t : all) {
                t.join();
            }
        }
    }

    static void virtualThreads() throws Exception {
        Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        int n = 100_000;
        CountDownLatch all = new CountDownLatch(n);
        CountDownLatch go = new CountDownLatch(1);
        for (int i = 0; i < n; i++) {
            boolean waits = i % 2 == 0;
            start.invoke(null, (Runnable) () -> {
                Hooks.enter(1);
                if (waits) {
                    try {
                        go.await();
                    } catch (InterruptedException e) {
                        throw new AssertionError(e);
                    }
                } else {
                    Thread.yield();
                }
                calls(1);
                caught(2, new RuntimeException("virtual"));
                Hooks.exit(1);
                all.countDown();
            });
        }
        go.countDown();
        all.await();
    }

    /** Virtual threads beside platform threads, all at full speed. */
    static void mixed() throws Exception {
        Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        List<Thread> all = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            all.add((Thread) start.invoke(null, (Runnable) () -> {
                for (int k = 0; k < 100; k++) {
                    calls(100);
                    Thread.yield();
                }
            }));
        }
        for (int i = 0; i < 2; i++) {
            Thread t = new Thread(() -> calls(100_000));
            all.add(t);
            t.start();
        }
        for (Thread t : all) {
            t.join();
        }
    }

    static void killed() throws Exception {
        Thread t = new Thread(() -> calls(12_345), "other");
        t.start();
        t.join();
        Hooks.enter(9);
        calls(34_567);
        stay();
    }

    static void killedAtWork() {
        Hooks.enter(9);
        calls(100);
        System.out.println("done");
        System.out.flush();
        while (true) {
            calls(1_000);
        }
    }

    static void forgotten() {
        for (int i = 0; i < 1_000; i++) {
            calls(1);
            Access.forgetLane();
        }
    }

    static void interrupted() {
        Thread.currentThread().interrupt();
        calls(200_000);
        if (!Thread.currentThread().isInterrupted()) {
            throw new AssertionError("the interrupt is lost");
        }
    }

    static int deep(int depth) {
        Hooks.enter(5);
        int result;
        try {
            result = 1 + deep(depth + 1);
        } catch (Throwable t) {
            Hooks.error(t, 5);
            throw t;
        }
        Hooks.exit(5);
        return result;
    }

    static int deepLeft(int depth) {
        Hooks.enter(5);
        Hooks.leaf(6);
        int result = 0;
        Throwable thrown = null;
        try {
            result = 1 + deepLeft(depth + 1);
        } catch (Throwable t) {
            thrown = t;
        }
        Hooks.leave(thrown, 5);
        return result;
    }

    static void values() {
        for (int i = 0; i < 100_000; i++) {
            String text = String.valueOf((char) ('a' + i % 26)).repeat(i % 140);
            Values.value(text, 0, 128, null, 5);
            Values.value(i, 1 << 16, 128, null, 5);
            Hooks.enter(5);
            Values.value(i % 2 == 1, 2 << 16 | 4 << 8, 128, null, 5);
            Hooks.exit(5);
        }
    }

    /** A collection of the platform's whose own method records it. */
    static void wovenCollection() throws Exception {
        Class<?> woven = Class.forName("java.util.Woven");
        Collection<?> v = (Collection<?>) woven.getConstructor(Runnable.class).newInstance((Runnable) () -> {
            Values.value(Held.woven, 0, 128, null, 6);
            Hooks.enter(6);
            Hooks.exit(6);
        });
        Held.woven = v;
        Values.value(v, 0, 128, null, 5);
        Hooks.enter(5);
        Hooks.exit(5);
    }

    private static final class Held {
        static Object woven;
    }

    /** Records what another thread holds the lock of, and waits for that to be done, also while it compares. */
    static void lockedValues() throws Exception {
        for (Object v : new Object[] {new Vector<>(List.of(1)), new Hashtable<>(), new StringBuffer("text")}) {
            synchronized (v) {
                elsewhere(v);
            }
        }
        PriorityBlockingQueue<Integer> sorted = new PriorityBlockingQueue<>(2, (a, b) -> {
            elsewhere(Held.woven); // has the queue's lock while it compares
            return 0;
        });
        Held.woven = sorted;
        sorted.add(1);
        sorted.add(2);
    }

    private static void elsewhere(Object v) {
        Thread thread = new Thread(() -> {
            Values.value(v, 0, 128, null, 5);
            Hooks.enter(5);
            Hooks.exit(5);
        });
        thread.setDaemon(true);
        thread.start();
        try {
            thread.join(20_000);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        if (thread.isAlive()) {
            throw new IllegalStateException(v.getClass() + " waits for its lock");
        }
    }

    static void valuesOverflow() {
        for (int i = 0; i < 8; i++) {
            try {
                deepValues(0);
                throw new AssertionError();
            } catch (StackOverflowError expected) {
                // again
            }
        }
        Hooks.enter(8);
        Hooks.exit(8);
    }

    private static final String DEEP = "deep".repeat(10);

    private static void deepValues(int n) {
        Values.value(DEEP, 0, 128, null, 1);
        Hooks.enter(1);
        try {
            deepValues(n + 1);
        } finally {
            Values.value(n, 1 << 16 | 4 << 8, 128, null, 1);
            Hooks.exit(1);
        }
    }

    static void overflow() throws Exception {
        Runnable storm = () -> {
            for (int i = 0; i < 40; i++) {
                try {
                    if (i % 2 == 0) {
                        deep(0);
                    } else {
                        deepLeft(0);
                    }
                    throw new AssertionError();
                } catch (StackOverflowError expected) {
                    // again
                }
            }
            Hooks.enter(8);
            calls(1_000);
            Hooks.exit(8);
        };
        storm.run();
        // Threads whose very first hook is called with hardly any stack left.
        for (int i = 0; i < 20; i++) {
            Thread t = new Thread(null, () -> {
                sink(0);
                Hooks.enter(8);
                calls(10);
                Hooks.exit(8);
            }, "deep", 300_000);
            t.start();
            t.join();
        }
    }

    static void sink(int depth) {
        try {
            sink(depth + 1);
        } catch (StackOverflowError e) {
            Hooks.enter(6);
            Hooks.exit(6);
        }
    }

    /** What the library calls is woven: the class loader, the error stream. */
    static void wovenHost() throws Exception {
        Thread.currentThread().setContextClassLoader(new ClassLoader(Programs.class.getClassLoader()) {
            @Override
            public Enumeration<URL> getResources(String name) throws java.io.IOException {
                Hooks.enter(66);
                try {
                    return super.getResources(name);
                } finally {
                    Hooks.exit(66);
                }
            }
        });
        PrintStream err = System.err;
        System.setErr(new PrintStream(new OutputStream() {
            @Override
            public void write(int b) {
                Hooks.enter(67);
                err.write(b);
                Hooks.exit(67);
            }
        }, true));
        calls(1_000);
        Thread.sleep(100);
        calls(1_000);
    }

    static void loaders() throws Exception {
        List<URL> urls = new ArrayList<>();
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
            urls.add(new File(entry).toURI().toURL());
        }
        for (int i = 0; i < 2; i++) {
            ClassLoader own = new URLClassLoader(urls.toArray(new URL[0]), ClassLoader.getPlatformClassLoader());
            Method calls = own.loadClass("Programs").getDeclaredMethod("calls", int.class);
            calls.setAccessible(true);
            calls.invoke(null, 100 + i);
        }
    }

    /** Two copies of the library, each of which looks for old traces; then the process stays. */
    static void keepers() throws Exception {
        loaders();
        quiet();
        stay();
    }

    /** Waits until nobody looks for names. */
    private static void quiet() throws InterruptedException {
        while (Thread.getAllStackTraces().keySet().stream().anyMatch(t -> t.getName().equals("weave-symbols"))) {
            Thread.sleep(5);
        }
    }

    /** The same; between the two somebody forgets the first one's property. */
    static void forgetfulKeepers() throws Exception {
        java.util.Properties before = new java.util.Properties();
        before.putAll(System.getProperties());
        calls(1);
        System.setProperties(before);
        keepers();
    }

    private static void stay() throws Exception {
        System.out.println("done");
        System.out.flush();
        while (System.in.read() >= 0) {
            // until whoever has started this is gone
        }
    }

    static void noThreadLeft() {
        calls(1);
        for (Thread t : Thread.getAllStackTraces().keySet()) {
            if (t.getName().startsWith("weave")) {
                throw new AssertionError("a thread when off: " + t);
            }
        }
    }
}
