package weave.runtime;

import java.lang.ref.WeakReference;
import java.util.Arrays;
import java.util.Iterator;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;

/**
 * Which methods the trace has names of, and the search for the others: code may come later, through any class loader. A
 * thread that meets an id without a name sees who is on its stack; {@link Symbols} then asks their loaders. All
 * references to classes and loaders are weak.
 */
final class Names {
    private static final int FRAMES = 64;
    private static final int PENDING = 1_000;
    /** A search costs a thread at most one in so many of its moments. */
    private static final int SHARE = 20;
    /** But not for long after one, which may have taken its time because it was the first. */
    private static final long PAUSE = 20_000_000;
    private static final long SECOND = 1_000_000_000L;
    private static final long MINUTE = 60 * SECOND;

    private final Store store;
    /** The ids, hashed; 0 is an empty place. Replaced, never changed. */
    private volatile int[] table = new int[2];
    private volatile boolean zero;

    private final AtomicReference<WeakReference<?>[]> seen = new AtomicReference<WeakReference<?>[]>(new WeakReference<?>[0]);
    private final ConcurrentLinkedQueue<WeakReference<Object>> queue = new ConcurrentLinkedQueue<WeakReference<Object>>();
    private final AtomicBoolean running = new AtomicBoolean();
    private volatile Thread thread;
    private final ConcurrentLinkedQueue<Integer> pending = new ConcurrentLinkedQueue<Integer>();
    private final AtomicInteger pendingCount = new AtomicInteger();
    /** The loaders that are always asked have been. */
    private volatile boolean searched;
    /** A map could not be copied. */
    private volatile boolean missing;
    private volatile long lookAgain;
    /** Ids that were asked for during this second. Not exact when threads collide here. */
    private final int[] asked = new int[256];
    private volatile long forgetAt = System.nanoTime();
    private volatile long patience = SECOND / 10;
    /** When threads are looked through, and how long until the next time. By the supplier's thread alone. */
    private long offerAt = System.nanoTime();
    private long offerGap = SECOND / 10;
    /** The process ends. */
    private volatile boolean ending;
    /** There was no memory for a search, so that none begins until then. */
    private volatile long fullUntil = System.nanoTime();

    Names(Store store) {
        this.store = store;
    }

    /** Whether the trace has the map that names this method. */
    boolean known(int id) {
        int[] ids = table;
        if (id == 0) {
            return zero;
        }
        int mask = ids.length - 1;
        for (int i = place(id) & mask;; i = i + 1 & mask) {
            int there = ids[i];
            if (there == id) {
                return true;
            }
            if (there == 0) {
                return false;
            }
        }
    }

    private static int place(int id) {
        int mixed = id * 0x9E37_79B9;
        return mixed ^ mixed >>> 15;
    }

    /** The table as it is once these ids have names as well. By {@link Symbols} alone, as the next. */
    int[] with(int[] ids, int count) {
        int[] old = table;
        int all = count;
        for (int id : old) {
            all += id == 0 ? 0 : 1;
        }
        int[] next = new int[Math.max(2, Integer.highestOneBit(Math.max(1, all)) << 2)];
        for (int id : old) {
            insert(next, id);
        }
        for (int i = 0; i < count; i++) {
            insert(next, ids[i]);
        }
        return next;
    }

    /** These ids, which the table has, have names now. */
    void use(int[] next, int[] ids, int count) {
        for (int i = 0; i < count; i++) {
            zero |= ids[i] == 0;
        }
        table = next;
    }

    private static void insert(int[] table, int id) {
        int mask = table.length - 1;
        int i = place(id) & mask;
        while (table[i] != 0 && table[i] != id) {
            i = i + 1 & mask;
        }
        table[i] = id;
    }

    void missed() {
        missing = true;
    }

    /** A method without a name begins on this thread, whose hooks are off now. */
    void ask(int id, Lane lane, long now) {
        if (now - forgetAt >= 0) {
            forgetAt = now + SECOND;
            Arrays.fill(asked, 0);
        }
        int place = place(id) & asked.length - 1;
        if (asked[place] == id || now - lane.askAgain < 0 || now - fullUntil < 0) {
            return;
        }
        asked[place] = id;
        try {
            if (pendingCount.get() < PENDING && !pending.contains(id)) {
                pendingCount.incrementAndGet();
                pending.add(id);
            }
            store.header.setFlag(Header.SYMBOLS, false);
            if (!searched && Host.ordinary()) {
                return; // a first search is under way
            }
            Class<?> caller = null;
            boolean news = false;
            int frames = 0;
            for (Class<?> c : Host.callers()) {
                ClassLoader loader = c.getClassLoader();
                if (c.getName().startsWith("weave.runtime.") || ++frames > FRAMES) {
                    continue;
                }
                caller = caller == null ? c : caller;
                if (loader != null && see(loader)) {
                    news = true;
                    queue.add(new WeakReference<Object>(c));
                }
            }
            // A loader that was asked may have got more code since.
            if (!news && caller != null && now - lookAgain >= 0) {
                news = true;
                lookAgain = now + patience;
                patience = Math.min(2 * patience, MINUTE);
                queue.add(new WeakReference<Object>(caller));
            }
            if (news) {
                start();
            }
        } catch (OutOfMemoryError full) {
            fullUntil = System.nanoTime() + SECOND; // each try would collect garbage
        } catch (Throwable t) {
            Host.pass(t); // else this record has no name
        } finally {
            long end = System.nanoTime();
            lane.askAgain = end + Math.min(SHARE * (end - now), PAUSE);
        }
    }

    /** A class loader that a thread begins with. */
    void offer(ClassLoader loader) {
        if (loader != null && see(loader)) {
            queue.add(new WeakReference<Object>(loader));
            start();
        }
    }

    /** Whether this loader is new. */
    private boolean see(ClassLoader loader) {
        while (true) {
            WeakReference<?>[] old = seen.get();
            int live = 0;
            for (WeakReference<?> s : old) {
                Object there = s.get();
                if (there == loader) {
                    return false;
                }
                live += there == null ? 0 : 1;
            }
            WeakReference<?>[] next = new WeakReference<?>[live + 1];
            next[0] = new WeakReference<Object>(loader);
            int n = 1;
            for (WeakReference<?> s : old) {
                if (n <= live && s.get() != null) {
                    next[n++] = s;
                }
            }
            if (n < next.length) {
                next = Arrays.copyOf(next, n);
            }
            if (seen.compareAndSet(old, next)) {
                return true;
            }
        }
    }

    /** Starts a thread that asks those in the queue, if none runs. */
    void start() {
        if (running.compareAndSet(false, true)) {
            boolean started = false;
            try {
                Thread t = Host.daemon(new Symbols(store, this), "weave-symbols");
                if (t != null) {
                    t.start();
                    thread = t;
                    started = true;
                }
            } finally {
                if (!started) {
                    running.set(false);
                }
            }
        }
    }

    /** The next class or class loader to be asked; null if there is none, and the asking thread may end. */
    WeakReference<Object> next() {
        while (true) {
            WeakReference<Object> next = queue.poll();
            if (next != null) {
                return next;
            }
            settle();
            if (!searched) {
                searched = true;
                Arrays.fill(asked, 0); // who was put off till now
            }
            running.set(false);
            if (queue.isEmpty() || !running.compareAndSet(false, true)) {
                return null;
            }
        }
    }

    /** The asking thread ends before its time; another may be started for what comes later. */
    void stopped() {
        missing = true;
        running.set(false);
    }

    /** How long until {@link #turn} has something to do, in nanoseconds. */
    long pause() {
        return Switched.initial == null || Initial.over ? Long.MAX_VALUE : Math.max(1, offerAt - System.nanoTime());
    }

    /** Where hooks meet nothing, since all is off from the start: threads may have come with code of loaders that nobody has asked. */
    void turn() {
        if (pause() > 1) {
            return;
        }
        offerAt = System.nanoTime() + offerGap;
        offerGap = Math.min(2 * offerGap, MINUTE);
        try {
            ThreadGroup all = Thread.currentThread().getThreadGroup();
            while (all.getParent() != null) {
                all = all.getParent();
            }
            Thread[] threads = new Thread[all.activeCount() + 16];
            for (int i = all.enumerate(threads) - 1; i >= 0; i--) {
                offer(threads[i].getContextClassLoader());
            }
        } catch (Throwable refused) {
            Host.pass(refused); // else what comes later is known once its hooks meet it
        }
    }

    /** Says in the header whether all that is known to have been recorded has a name. */
    private void settle() {
        for (Iterator<Integer> i = pending.iterator(); i.hasNext();) {
            if (known(i.next())) {
                i.remove();
                pendingCount.decrementAndGet();
                patience = SECOND / 10;
            }
        }
        boolean all = pending.isEmpty() && !missing;
        store.header.setFlag(Header.SYMBOLS, all);
        if (all && !pending.isEmpty()) {
            store.header.setFlag(Header.SYMBOLS, false);
        }
    }

    /** Waits until there may be memory again; false if the process ends. */
    boolean rest() {
        if (!ending) {
            LockSupport.parkNanos(SECOND);
            Thread.interrupted();
        }
        return !ending;
    }

    /** Waits for what is being read now. */
    void join(long millis) throws InterruptedException {
        ending = true;
        Thread t = thread;
        LockSupport.unpark(t);
        if (t != null) {
            t.join(millis);
        }
    }
}
