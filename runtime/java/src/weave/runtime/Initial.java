package weave.runtime;

/**
 * Whether all that can be switched is as it was at the start. Compilers know that there is one class of this kind, {@link Kept}, and put its
 * answer into machine code; once {@link Over} is loaded they throw that code away. So methods that are off from the start cost what nothing to
 * record costs, until somebody switches.
 */
abstract class Initial {
    /** So many calls open the trace and look for maps: so few that compilers take what they do as never done. */
    private static final int FIRST = 64;

    private static int met;
    /** {@link Over} is in place. */
    private static boolean ended;
    /** Somebody has switched. */
    static volatile boolean over;

    abstract boolean holds();

    /** A call of what starts off. */
    static void met() {
        if (!over && ++met >= FIRST) { // not exact when threads collide here
            rest();
        }
    }

    private static synchronized void rest() {
        if (!over) {
            Switched.initial = new Kept();
            Store store = Trace.store;
            if (store != null) {
                store.wake(); // what these calls do not meet it looks for now and then
            }
        }
    }

    /**
     * Somebody switches: hooks look at the table of modes from now on. Until {@link Over} is there, they find nothing, and ask {@link #over}.
     * If they still found {@link Kept} when its machine code is thrown away, a loop that is compiled anew just then could keep that for good.
     */
    static synchronized void end() {
        if (!ended) {
            over = true;
            Switched.initial = null;
            Switched.initial = Over.make();
            ended = true;
        }
    }

    private static final class Kept extends Initial {
        @Override
        boolean holds() {
            return true;
        }
    }
}
