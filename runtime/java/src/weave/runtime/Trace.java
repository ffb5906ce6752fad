package weave.runtime;

import java.util.concurrent.atomic.AtomicBoolean;

/** The life of this process's trace: it is opened by the first hook and ended by the virtual machine's shutdown. */
final class Trace {
    /** How long the end of the process waits for symbols that are still being copied, in milliseconds. */
    private static final long SYMBOLS_PATIENCE = 2_000;

    private static final Gate GATE = new Gate();
    private static final AtomicBoolean SAID = new AtomicBoolean();
    private static volatile boolean tried;
    /** Null if there is no trace. */
    private static volatile Store store;

    private Trace() {}

    /** A lane for a thread; {@link Lane#MUTE} if there is no trace; null if that cannot be told now. */
    static Lane lane(Thread thread) {
        if (!tried) {
            if (!GATE.enter(Host.isVirtual(thread))) {
                return null;
            }
            String message = null;
            boolean mine = !tried;
            Object disk = Host.beginDisk();
            try {
                if (mine) {
                    message = open();
                }
            } finally {
                tried = true;
                GATE.held = 0;
                Host.endDisk(disk);
            }
            if (mine) {
                // Not before the gate is open: this may run the program's code.
                if (message != null) {
                    say(message);
                }
                if (store != null) {
                    accompany(store);
                }
            }
        }
        Store s = store;
        return s == null ? Lane.MUTE : s.lane(thread);
    }

    /** Returns what there is to say, or null. */
    private static String open() {
        long pid = Host.pid();
        Settings settings = new Settings(pid);
        TraceFile file = null;
        try {
            file = TraceFile.create(settings.path, settings.limit);
            store = new Store(file, settings, pid, Host.command());
            return settings.complaint;
        } catch (Throwable t) {
            if (file != null) {
                file.path.delete();
            }
            String reason = t.getMessage() != null ? t.getMessage() : t.toString();
            return "cannot write the trace " + settings.path + ": " + reason + "; the program runs on without it";
        }
    }

    /** Starts what goes beside the program. */
    private static void accompany(final Store store) {
        Thread copier = null;
        try {
            copier = new Thread(new Symbols(store, Thread.currentThread().getContextClassLoader()), "weave-symbols");
            copier.setDaemon(true);
            copier.setContextClassLoader(null);
            copier.start();
        } catch (Throwable noThread) {
            copier = null; // the trace then has no names; they can be given to the reader
        }
        final Thread symbols = copier;
        try {
            Thread end = new Thread("weave-end") {
                @Override
                public void run() {
                    Hooks.LANES.set(Lane.MUTE);
                    if (symbols != null) {
                        try {
                            symbols.join(SYMBOLS_PATIENCE);
                        } catch (InterruptedException e) {
                            // then without
                        }
                    }
                    store.end();
                    growthStopped(store);
                }
            };
            end.setContextClassLoader(null);
            Runtime.getRuntime().addShutdownHook(end);
        } catch (Throwable shutdownInProgress) {
            // The trace is whole all the same; it only does not say when it ended.
        }
    }

    /** Says so, once, if it was the disk that stopped the file and not its limit. */
    static void growthStopped(Store store) {
        String trouble = store.trouble();
        if (trouble != null) {
            say("the trace cannot grow: " + trouble + "; what finds no room in it is counted as lost");
        }
    }

    private static void say(String message) {
        if (SAID.compareAndSet(false, true)) {
            System.err.println("weave: " + message);
        }
    }
}
