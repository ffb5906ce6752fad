package weave.runtime;

import java.io.BufferedReader;
import java.io.DataInputStream;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileReader;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The daemon thread that writes down, again and again, what the process uses. Beans of the platform are asked by
 * reflection: the module that has them may not be there.
 */
final class Meter implements Runnable {
    private static final int CPU = 1;
    private static final int RESIDENT = 2;
    private static final int HEAP_USED = 3;
    private static final int HEAP_COMMITTED = 4;
    private static final int COLLECTIONS = 5;
    private static final int PAUSES = 6;
    private static final int THREADS = 7;
    private static final int COMPILATION = 11;
    private static final int CLASSES = 12;
    private static final int SAFEPOINTS = 13;
    private static final int SAFEPOINT_TIME = 14;
    private static final int MOST = 14;
    /** Threads whose CPU time one sample has: Java 8 looks through all threads for each. */
    private static final int MOST_THREADS = 256;
    private static final String THREAD_BEAN = "java.lang.management.ThreadMXBean";

    private static final long MILLION = 1_000_000L;
    /** Values are unsigned numbers of 56 bits. */
    private static final long LIMIT = 1L << 56;

    private final Store store;
    /** In nanoseconds. */
    private final long interval;

    private final long[] values = new long[MOST];
    private int count;

    private boolean beans = true;
    private boolean counters = true;
    private boolean clocks = true;
    /** What tells a thread's CPU time; null before it was asked for. */
    private Object threads;
    private Method cpuTime;
    private final ArrayList<Lane> recorded = new ArrayList<Lane>();
    /** The next of these whose turn it is. */
    private int nextThread;

    /** Held by who takes a sample. */
    private final ReentrantLock turn = new ReentrantLock();
    /** Null before the first sample. */
    private Lane lane;

    Meter(Store store, long interval) {
        this.store = store;
        this.interval = interval;
    }

    void start() {
        Thread t = Host.daemon(this, "weave-process");
        if (t != null) {
            t.start();
        }
    }

    @Override
    public void run() {
        Switch.LANES.mute();
        long next = System.nanoTime() + interval;
        while (!store.faulted) {
            try {
                long wait = next - System.nanoTime();
                if (wait > 0) {
                    LockSupport.parkNanos(wait);
                    Thread.interrupted();
                    continue;
                }
                next = Math.max(next + interval, System.nanoTime());
                Switch.LANES.mute(); // again and again: somebody may clear all threads' locals
                turn.lock();
                try {
                    take();
                } finally {
                    turn.unlock();
                }
            } catch (Throwable t) {
                next = System.nanoTime() + interval; // then the next time
            }
        }
    }

    private void take() {
        long[] sample = sample();
        if (lane == null) {
            lane = store.lane(Thread.currentThread());
            lane.own = true;
        }
        lane.sample(sample);
        if (clocks) {
            try {
                clocks = clocks(sample[1]);
            } catch (Throwable notThere) {
                clocks = false;
            } finally {
                recorded.clear();
            }
        }
    }

    /**
     * The process ends: takes one more sample, unless one is being taken. A process that ended before its first sample has none, and
     * does not wait for one.
     */
    void last() {
        if (turn.tryLock()) {
            try {
                if (lane != null) {
                    take();
                }
            } finally {
                turn.unlock();
            }
        }
    }

    /** Writes the CPU time of recorded threads where it has grown; false if the platform does not tell. */
    private boolean clocks(long time) throws Exception {
        if (cpuTime == null) {
            Object bean = bean("getThreadMXBean");
            if (!Boolean.TRUE.equals(call(bean, THREAD_BEAN, "isThreadCpuTimeSupported"))
                || !Boolean.TRUE.equals(call(bean, THREAD_BEAN, "isThreadCpuTimeEnabled"))) {
                return false;
            }
            threads = bean;
            cpuTime = Class.forName(THREAD_BEAN).getMethod("getThreadCpuTime", long.class);
        }
        store.lanes(recorded);
        int all = recorded.size();
        for (int left = Math.min(all, MOST_THREADS); left > 0; left--) {
            nextThread = nextThread < all ? nextThread : 0;
            Lane of = recorded.get(nextThread++);
            Thread thread = of.thread.get();
            if (of.own || thread == null || !thread.isAlive()) {
                continue;
            }
            long used = (Long) cpuTime.invoke(threads, thread.getId());
            if (used > of.cpu) {
                of.cpu = used;
                lane.sample(new long[] {Format.escape(Format.CPU, 2, of.number), time, used});
            }
        }
        return true;
    }

    /** What a SAMPLE escape is made of. */
    private long[] sample() {
        count = 0;
        long now = System.nanoTime();
        system();
        heap();
        if (beans) {
            try {
                beans();
            } catch (Throwable notThere) {
                beans = false;
            }
        }
        if (counters) {
            try {
                counters();
            } catch (Throwable notThere) {
                counters = false;
            }
        }
        long[] escape = new long[2 + count];
        escape[0] = Format.escape(Format.SAMPLE, 1 + count, 0);
        escape[1] = store.time(now);
        System.arraycopy(values, 0, escape, 2, count);
        return escape;
    }

    private void put(int metric, long value) {
        if (value >= 0 && value < LIMIT && count < MOST) {
            values[count++] = value << 8 | metric;
        }
    }

    private void heap() {
        Runtime runtime = Runtime.getRuntime();
        long committed = runtime.totalMemory();
        long free = runtime.freeMemory();
        // A heap that grows between the two has more that is free than it had in all.
        for (long then; (then = runtime.totalMemory()) != committed; free = runtime.freeMemory()) {
            committed = then;
        }
        put(HEAP_USED, committed - free);
        put(HEAP_COMMITTED, committed);
    }

    /** Linux tells how much memory is resident, and how many threads there are. */
    private void system() {
        try {
            BufferedReader in = new BufferedReader(new FileReader("/proc/self/status"));
            try {
                for (String line; (line = in.readLine()) != null;) {
                    if (line.startsWith("VmRSS:")) {
                        put(RESIDENT, number(line) << 10);
                    } else if (line.startsWith("Threads:")) {
                        put(THREADS, number(line));
                    }
                }
            } finally {
                in.close();
            }
        } catch (Exception notLinux) {
            // then without
        }
    }

    private static long number(String line) {
        long number = 0;
        for (int i = 0; i < line.length(); i++) {
            char c = line.charAt(i);
            number = c >= '0' && c <= '9' ? number * 10 + c - '0' : number;
        }
        return number;
    }

    private void beans() throws Exception {
        put(CPU, cpuTime());
        long collections = 0;
        long pauses = 0;
        for (Object collector : (List<?>) bean("getGarbageCollectorMXBeans")) {
            String type = "java.lang.management.GarbageCollectorMXBean";
            String name = (String) call(collector, "java.lang.management.MemoryManagerMXBean", "getName");
            if (name.endsWith(" Cycles")) {
                continue; // the program runs beside these
            }
            collections += Math.max(0, ask(collector, type, "getCollectionCount"));
            pauses += Math.max(0, ask(collector, type, "getCollectionTime"));
        }
        put(COLLECTIONS, collections);
        put(PAUSES, pauses * MILLION);
        Object compiler = bean("getCompilationMXBean");
        if (compiler != null) {
            put(COMPILATION, ask(compiler, "java.lang.management.CompilationMXBean", "getTotalCompilationTime") * MILLION);
        }
        put(CLASSES, ask(bean("getClassLoadingMXBean"), "java.lang.management.ClassLoadingMXBean", "getLoadedClassCount"));
    }

    private static Object bean(String getter) throws Exception {
        return Class.forName("java.lang.management.ManagementFactory").getMethod(getter).invoke(null);
    }

    /** CPU time of the process in nanoseconds, or -1 where nobody tells. */
    static long cpuTime() {
        try {
            return ask(bean("getOperatingSystemMXBean"), "com.sun.management.OperatingSystemMXBean", "getProcessCpuTime");
        } catch (Exception without) {
            return -1;
        }
    }

    /** A number, or -1 if there is no such one here. */
    private static long ask(Object bean, String type, String getter) {
        try {
            return ((Number) call(bean, type, getter)).longValue();
        } catch (Exception another) {
            return -1;
        }
    }

    private static Object call(Object bean, String type, String getter) throws Exception {
        Method method = Class.forName(type).getMethod(getter);
        return method.invoke(bean);
    }

    /** HotSpot writes counters into a file, which jstat reads. Nothing else counts safepoints. */
    private void counters() throws Exception {
        File folder = new File("/tmp/hsperfdata_" + System.getProperty("user.name"));
        byte[] bytes;
        File file = new File(folder, Long.toString(store.settings.pid));
        DataInputStream in = new DataInputStream(new FileInputStream(file));
        try {
            bytes = new byte[(int) Math.min(file.length(), 1 << 20)];
            in.readFully(bytes);
        } finally {
            in.close();
        }
        ByteBuffer all = ByteBuffer.wrap(bytes).order(ByteOrder.nativeOrder());
        int at = all.getInt(24);
        long frequency = 0;
        long safepoints = -1;
        long ticks = -1;
        for (int left = all.getInt(28); left > 0; left--) {
            int length = all.getInt(at);
            int name = at + all.getInt(at + 4);
            int data = at + all.getInt(at + 16);
            if (is(bytes, name, "sun.os.hrt.frequency")) {
                frequency = all.getLong(data);
            } else if (is(bytes, name, "sun.rt.safepoints")) {
                safepoints = all.getLong(data);
            } else if (is(bytes, name, "sun.rt.safepointTime")) {
                ticks = all.getLong(data);
            }
            at += length;
        }
        put(SAFEPOINTS, safepoints);
        if (frequency > 0 && ticks >= 0) {
            put(SAFEPOINT_TIME, (long) (ticks * 1e9 / frequency));
        }
    }

    private static boolean is(byte[] bytes, int at, String name) {
        byte[] wanted = name.getBytes(StandardCharsets.US_ASCII);
        for (int i = 0; i < wanted.length; i++) {
            if (bytes[at + i] != wanted[i]) {
                return false;
            }
        }
        return bytes[at + wanted.length] == 0;
    }
}
