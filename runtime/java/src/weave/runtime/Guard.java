package weave.runtime;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * What the adapters of a program's own hooks call: so that what a hook throws does not reach the program, and so that hooks do not
 * call themselves by way of woven code. It throws nothing but what another thread has thrown to stop this one, and starts no trace.
 */
public final class Guard {
    /** Of the failures that the error stream is told, one a hook. */
    private static final int MOST_HOOKS = 1_000;
    private static final int LONGEST_TEXT = 1_000;

    /** There is no static initialiser: at the end of the stack it would fail, and with it each later call. */
    private static boolean flagged;
    private static boolean counted;

    /** Failures that could not be counted otherwise. Not exact when threads collide here: it is never hot. */
    private static int adrift;

    private Guard() {}

    /** The threads that run a hook. */
    private static final class Flags {
        /** Each value is of the platform's classes: a thread that outlives this library does not hold it. */
        static final ThreadLocal<boolean[]> BUSY = new ThreadLocal<boolean[]>();
    }

    private static final class Failures {
        /** The hooks that the error stream was told of. */
        static final ConcurrentHashMap<String, Boolean> TOLD = new ConcurrentHashMap<String, Boolean>();
        /** Failures that the trace's header does not have yet. */
        static final AtomicInteger UNTOLD = new AtomicInteger();
    }

    /**
     * A hook begins, unless this thread runs one: then null, and the hook is not to be called. What it gives is this thread's flag, at
     * 0, which the caller sets back to false when the hook is over: by a store of its own, since at the end of the stack a call may fail.
     */
    public static boolean[] begin() {
        try {
            if (!flagged) {
                probe(600, 0, 0, 0);
                flagged = Flags.BUSY != null;
            }
            boolean[] busy = Flags.BUSY.get();
            if (busy == null) {
                busy = new boolean[1];
                Flags.BUSY.set(busy);
            }
            if (busy[0]) {
                return null;
            }
            busy[0] = true;
            return busy;
        } catch (Throwable failure) {
            pass(failure); // neither stack nor memory for it: then without the hook
            return null;
        }
    }

    /** The hook of this name has thrown this. */
    public static void failed(Throwable t, String hook) {
        try {
            if (!isStop(t)) {
                count(t, hook);
            }
        } catch (Throwable failure) {
            adrift++;
            pass(failure);
        }
        pass(t);
    }

    private static void count(Throwable t, String hook) {
        if (!counted) {
            probe(600, 0, 0, 0);
            if (Switch.ON) {
                Trace.prime();
            }
            counted = Failures.TOLD != null;
        }
        Failures.UNTOLD.addAndGet(1 + adrift);
        adrift = 0;
        if (Switch.ON) {
            tell();
        }
        if (!Failures.TOLD.containsKey(hook) && Failures.TOLD.size() < MOST_HOOKS
            && Failures.TOLD.putIfAbsent(hook, Boolean.TRUE) == null) {
            say(t, hook);
        }
    }

    /** Adds to the failures in the trace's header, if there is a trace. */
    private static void tell() {
        Store store = Trace.store;
        if (store != null && !store.faulted) {
            int untold = Failures.UNTOLD.getAndSet(0);
            try {
                store.header.addFailures(untold);
            } catch (InternalError fault) {
                store.fault();
                Cursor.settle();
            }
        }
    }

    /** By now the hook counts as told, so that what is called here may fail in it. */
    private static void say(Throwable t, String hook) {
        String text;
        try {
            text = t.toString();
        } catch (Throwable unruly) {
            pass(unruly);
            text = t.getClass().getName();
        }
        if (text != null && text.length() > LONGEST_TEXT) {
            text = text.substring(0, LONGEST_TEXT) + "...";
        }
        Log.say("hook " + hook + " failed: " + text
            + "; the program runs on, and this hook's next failures are not shown");
    }

    /** Whether another thread has thrown this to stop this one. Newer JDKs may not have that class. */
    private static boolean isStop(Throwable t) {
        return t.getClass().getName().equals("java.lang.ThreadDeath");
    }

    private static void pass(Throwable t) {
        boolean stop;
        try {
            stop = isStop(t);
        } catch (Throwable noRoom) {
            return;
        }
        if (stop) {
            throw (Error) t;
        }
    }

    /** Fails with a StackOverflowError if the stack has no room for so many frames. */
    private static long probe(int frames, long a, long b, long c) {
        return frames == 0 ? a : 1 + probe(frames - 1, a + 1, b + a, c + b);
    }
}
