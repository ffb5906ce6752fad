package acme;

import java.util.concurrent.atomic.AtomicInteger;

/** Hooks that take everything, and hold what is told at the end against what was told at the start. */
public final class All {
    private static final AtomicInteger BEGUN = new AtomicInteger(), ENDED = new AtomicInteger(), FAILED = new AtomicInteger();
    private static final AtomicInteger WRONG = new AtomicInteger();

    static {
        Runtime.getRuntime().addShutdownHook(new Thread(new Runnable() {
            @Override
            public void run() {
                System.err.println("own hooks: " + BEGUN + " begun, " + ENDED + " ended, " + FAILED + " failed, " + WRONG + " wrong");
            }
        }));
    }

    public static Object begin(Object self, Object[] args) {
        BEGUN.incrementAndGet();
        return new Object[] {self, args};
    }

    public static void end(Object self, Object[] args, Object result, Object state, long duration) {
        ENDED.incrementAndGet();
        compare(self, args, state, duration);
    }

    public static void failed(Object self, Object[] args, Throwable exception, Object state, long duration) {
        FAILED.incrementAndGet();
        compare(self, args, state, duration);
        wrong(exception == null);
    }

    private static void compare(Object self, Object[] args, Object state, long duration) {
        Object[] start = (Object[]) state;
        Object[] before = (Object[]) start[1];
        boolean same = start[0] == self && before.length == args.length && duration >= 0;
        for (int i = 0; same && i < args.length; i++) {
            // What was boxed is another object.
            same = before[i] == args[i] || isBox(before[i]) && before[i].equals(args[i]);
        }
        wrong(!same);
    }

    private static boolean isBox(Object o) {
        return o instanceof Number || o instanceof Boolean || o instanceof Character;
    }

    private static void wrong(boolean is) {
        if (is) {
            WRONG.incrementAndGet();
        }
    }
}
