package weave.runtime;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

/** The life of this process's trace: it is opened by the first hook and ended by the virtual machine's shutdown. */
final class Trace {
    /** How long the end of the process waits for a start in another thread, and for symbols that are still being copied, in milliseconds. */
    private static final long PATIENCE = 2_000;

    private static final Gate GATE = new Gate();
    private static final AtomicBoolean SAID = new AtomicBoolean();
    private static volatile boolean tried;
    /** Null if there is no trace. */
    static volatile Store store;
    /** What goes beside the program has started, or could not. */
    private static volatile boolean accompanied;
    /** Null if there are no samples. */
    private static volatile Meter meter;

    private Trace() {}

    /** Initialises this class and what it needs, while the stack has room. */
    static void prime() {
        Lane.MUTE.busy = true;
        Tally.place(Tally.EMPTY, 1);
        Sums.place(Sums.EMPTY, 1);
        new Sum(new Frame().id).end(0, 0, false, true);
        Fence.release();
        Secrets.prime();
        Modes.exactly(1);
        Propagators.SET.sent(0);
        Sampler.SET.draws();
    }

    /** A lane for a thread; {@link Lane#MUTE} if there is no trace; null if that cannot be told now. */
    static Lane lane(Thread thread) {
        if (!tried) {
            List<String> messages = new ArrayList<String>();
            boolean mine = false;
            Object disk = null;
            try {
                if (!GATE.enter(thread, Host.isVirtual(thread))) {
                    return null;
                }
                mine = !tried;
                if (mine) {
                    disk = Host.beginDisk();
                    open(messages);
                    tried = true;
                }
            } finally {
                if (GATE.owner == thread) {
                    GATE.owner = null;
                }
                Host.endDisk(disk);
            }
            if (mine) {
                // Not before the gate is open: this may run the program's code.
                for (String message : messages) {
                    Log.say(message);
                }
                if (store != null) {
                    listen(store);
                    accompany(store);
                    accompanied = true;
                }
            }
        }
        Store s = store;
        return s == null ? Lane.MUTE : s.lane(thread);
    }

    /** Opens the trace, and leaves what there is to say. What another thread throws to stop this one lets a later hook try again. */
    private static void open(List<String> messages) {
        Settings settings = new Settings(Host.pid(), System.currentTimeMillis());
        String refusal = settings.refusal();
        if (refusal != null) {
            messages.add(refusal);
            return;
        }
        TraceFile file = null;
        try {
            file = TraceFile.create(settings.path, settings.limit);
            store = new Store(file, settings, settings.pid, Secrets.command());
            for (String complaint : new String[] {settings.complaint, Secrets.COMPLAINT, Propagators.SET.complaint, Sampler.SET.complaint}) {
                if (complaint != null) {
                    messages.add(complaint);
                }
            }
            // What is not wrong is told in the trace: a program's error stream may be read by another.
            String renamed = file.path.equals(settings.path) ? null
                : settings.path.getName() + " exists, so this run records to " + file.path.getName()
                    + " (%p or %t in WEAVE_TRACE keep runs apart)";
            store.header.setNotes(settings.limitMessage, renamed);
        } catch (Throwable t) {
            if (file != null) {
                file.path.delete();
            }
            Host.pass(t);
            String reason = t.getMessage() != null ? t.getMessage() : t.toString();
            messages.add("cannot write the trace " + settings.path + ": " + reason + "; the program runs on without it");
        }
    }

    /**
     * Has the end of the process told, first of all: another thread may end it next. Not while the gate is closed, since a new thread may
     * run the program's code.
     */
    private static void listen(final Store store) {
        if (Switch.COLLECTIBLE) {
            return; // a shutdown hook would hold the library for good; the trace only does not say when it ended
        }
        try {
            Runtime.getRuntime().addShutdownHook(Host.daemon(new Runnable() {
                @Override
                public void run() {
                    end(store);
                }
            }, "weave-end"));
        } catch (Throwable shutdownInProgress) {
            // The trace is whole all the same; it only does not say when it ended.
        }
    }

    /** Starts what goes beside the program. */
    private static void accompany(Store store) {
        try {
            store.start();
        } catch (Throwable noThread) {
            Host.pass(noThread); // else the program's threads do its work
        }
        try {
            store.names.start();
        } catch (Throwable noThread) {
            Host.pass(noThread); // else the trace has no names; they can be given to the reader
        }
        if (Switch.COLLECTIBLE) {
            return; // a thread would hold the library for good
        }
        try {
            if (store.settings.sample > 0) {
                meter = new Meter(store, store.settings.sample);
                meter.start();
            }
        } catch (Throwable noThread) {
            Host.pass(noThread); // else the trace has no samples
        }
    }

    private static void end(Store store) {
        try {
            Switch.LANES.mute();
            long until = System.nanoTime() + PATIENCE * 1_000_000L;
            while (!accompanied && System.nanoTime() < until) {
                Thread.sleep(1);
            }
            store.names.join(PATIENCE);
        } catch (Throwable interrupted) {
            // then without
        }
        try {
            if (meter != null) {
                meter.last();
            }
        } catch (Throwable notThere) {
            // then without
        }
        try {
            store.end();
        } catch (Throwable gone) {
            store.fault(); // its memory
        }
        try {
            growthStopped(store);
        } catch (Throwable broken) {
            // an error stream of the program's
        }
    }

    /** Says so, once, if it was the disk that stopped the file and not its limit. */
    static void growthStopped(Store store) {
        String trouble = store.trouble();
        Cursor.settle(); // else it may end what prints
        if (trouble != null && SAID.compareAndSet(false, true)) {
            Log.say("the trace cannot grow: " + trouble + "; what finds no room in it is counted as lost");
        }
    }
}
