package weave.runtime;

/**
 * The hooks of methods that can be switched while the program runs, in place of {@link Hooks}. {@link #enter} decides about a call, and what
 * it gives goes to the hook at its end: so a call ends as it began, whatever was switched in between and on whichever thread it goes on.
 *
 * <p>{@code as} is what the rules say: the mode in bits 0 and 1 (0 record, 1 aggregate, 2 count), whether the program itself decides how much
 * it records in bit 2, whether calls are sampled in bit 3, the level in bits 4 and 5, and from bit 8 on a number: the microseconds beyond which
 * a call is told by itself, or one of how many calls is taken, or, with bit 7, how many a second.
 */
public final class Switched {
    /**
     * What a call's hooks give to each other. Bit 0 is set of an outermost sampled call, bit 1 of a call that is recorded. Above
     * {@link #SUMMED} lie the microseconds beyond which it is told by itself, and above {@link #TAKEN} for how many calls it stands.
     */
    static final int NOTHING = 0;
    /** An outermost sampled call that is not recorded. */
    static final int PASSED = 1;
    static final int RECORDED = 2;
    /** An outermost sampled call that is. */
    private static final int TAKEN = 3;
    static final int SUMMED = 4;
    static final int KIND = 7;

    /** Of what the rules say. */
    static final int MODE = 3;
    private static final int COUNTED = 2;
    static final int AUTO = 1 << 2;
    static final int SAMPLED = 1 << 3;
    static final int SECOND = 1 << 7;

    /** Null for the first calls of what starts off. No initialiser: it could fail at the end of the stack. */
    static Initial initial;

    private Switched() {}

    /** The method {@code id} begins. */
    public static int enter(int as, int id) {
        return isOff(as, id) ? NOTHING : begun(Modes.of(as, id), as, id);
    }

    private static boolean isOff(int as, int id) {
        return !Hooks.isOn() || Hooks.startsOff(as) && isInitial(id) || Modes.of(as, id) == Modes.OFF;
    }

    /** Whether nobody has switched anything. Compilers take it as known that somebody has not ({@link Initial}). */
    private static boolean isInitial(int id) {
        Initial now = initial;
        if (now == null) {
            OutOfLine.meet(id);
            return !Initial.over;
        }
        return now.holds();
    }

    private static int begun(int mode, int as, int id) {
        if ((as & AUTO) == 0 && (mode == Modes.COUNT || mode == Modes.RULES && (as & MODE) == COUNTED)) {
            Recorder.count(id); // so little that it may stand in each caller
            return NOTHING;
        }
        return OutOfLine.begun(mode, as, id);
    }

    /** The method {@code id} is about to begin, and values of the call come first. */
    public static int decide(int as, int id) {
        return isOff(as, id) ? NOTHING : OutOfLine.decided(Modes.of(as, id), as, id);
    }

    /** The method {@code id} begins, as was decided. */
    public static void begin(int state, int id) {
        if (state != NOTHING) {
            OutOfLine.begin(state, id);
        }
    }

    /** The method {@code id} returns. */
    public static void exit(int state, int id) {
        if (state != NOTHING) {
            try {
                OutOfLine.exit(state, id);
                return;
            } catch (StackOverflowError deep) {
                // The end of a sampled call is known all the same. No call has room here, and the method is to be no larger.
                Hooks.stranded += state & 1;
                Hooks.adriftShort += state >> 1 & 1;
            }
        }
    }

    /** The exception {@code t} leaves the method {@code id}. */
    public static void error(Throwable t, int state, int id) {
        if (state != NOTHING) {
            try {
                OutOfLine.error(t, state, id);
                return;
            } catch (StackOverflowError deep) {
                // The end of a sampled call is known all the same. No call has room here, and the method is to be no larger.
                Hooks.stranded += state & 1;
                Hooks.adriftShort += state >> 1 & 1;
            }
        }
    }

    /** Whether a call's values go into the trace. */
    static boolean isRecorded(int state) {
        return (state & RECORDED) != 0;
    }

    /** The state of an outermost call that stands for so many. */
    static int taken(int weight) {
        return weight << 3 | TAKEN;
    }
}
