package weave.runtime;

import java.util.concurrent.locks.LockSupport;

/** The daemon thread that has chunks ready before they are needed, so that no thread of the program waits for the disk. */
final class Supplier implements Runnable {
    private static final long PAUSE = 100_000_000L;

    private final Store store;
    private volatile boolean asleep;
    private volatile Thread thread;

    Supplier(Store store) {
        this.store = store;
    }

    void start() {
        Thread t = Host.daemon(this, "weave-trace");
        if (t != null) {
            thread = t;
            t.start();
        }
    }

    /** Lets it look whether there are few chunks. Costs next to nothing while it works. */
    void wake() {
        if (asleep) {
            asleep = false;
            LockSupport.unpark(thread);
        }
    }

    @Override
    public void run() {
        while (true) {
            try {
                Switch.LANES.mute(); // again and again: somebody may clear all threads' locals
                while (store.supply()) {
                    // go on
                }
                store.counts.turn();
                store.control.look();
                store.control.turn();
                store.names.turn();
                asleep = true;
                long pause = Math.min(store.counts.pause(), Math.min(store.control.pause(), store.names.pause()));
                if (store.wants()) {
                    LockSupport.parkNanos(PAUSE); // all chunks are in use: not again at once
                } else if (pause != Long.MAX_VALUE) {
                    LockSupport.parkNanos(pause);
                } else {
                    LockSupport.park();
                }
                asleep = false;
            } catch (InternalError gone) {
                store.fault(); // the file's memory
                Cursor.settle();
            } catch (Throwable noMemory) {
                pause();
            }
        }
    }

    /** Then tries again: the program's threads help themselves meanwhile. */
    private static void pause() {
        try {
            LockSupport.parkNanos(PAUSE);
            Thread.interrupted();
        } catch (Throwable again) {
            // at once, then
        }
    }
}
