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
     * What a call's hooks give to each other. Above {@link #SUMMED} lie the microseconds beyond which it is told by itself, and above
     * {@link #TAKEN} for how many calls it stands.
     */
    static final int NOTHING = 0;
    static final int RECORDED = 1;
    private static final int SUMMED = 2;
    /** An outermost sampled call that is not recorded. */
    static final int PASSED = 3;
    /** One that is. */
    private static final int TAKEN = 5;
    private static final int KIND = 3;

    /** Of what the rules say. */
    private static final int AUTO = 1 << 2;
    private static final int SAMPLED = 1 << 3;
    private static final int SECOND = 1 << 7;

    private Switched() {}

    /** The method {@code id} begins. */
    public static int enter(int as, int id) {
        if (Hooks.on()) {
            int mode = Modes.of(id);
            if (mode != Modes.OFF) {
                return begun(mode, as, id);
            }
        }
        return NOTHING;
    }

    private static int begun(int mode, int as, int id) {
        int state = decided(mode, as, id);
        begin(state, id);
        return state;
    }

    /** The method {@code id} is about to begin, and values of the call come first. */
    public static int decide(int as, int id) {
        if (Hooks.on()) {
            int mode = Modes.of(id);
            if (mode != Modes.OFF) {
                return decided(mode, as, id);
            }
        }
        return NOTHING;
    }

    /** The method {@code id} begins, as was decided. */
    public static void begin(int state, int id) {
        if (state == RECORDED) {
            Hooks.enter(id);
        } else if (state != NOTHING) {
            if ((state & KIND) == SUMMED) {
                Hooks.start(id);
            } else if (state != PASSED) {
                Hooks.outermost(id, state >>> 3);
            }
        }
    }

    /** The method {@code id} returns. */
    public static void exit(int state, int id) {
        if (state == RECORDED) {
            Hooks.exit(id);
        } else if (state == SUMMED) {
            Hooks.stop(id);
        } else if (state != NOTHING) {
            if ((state & KIND) == SUMMED) {
                Hooks.stop(id, false, state >>> 2);
                return;
            }
            try {
                Hooks.free(null, state != PASSED, false, id);
            } catch (StackOverflowError deep) {
                // No call has room here.
                Hooks.stranded++;
                Hooks.adrift += state != PASSED ? 1 : 0;
                Hooks.adriftShort += state != PASSED ? 1 : 0;
            }
        }
    }

    /** The exception {@code t} leaves the method {@code id}. */
    public static void error(Throwable t, int state, int id) {
        if (state == RECORDED) {
            Hooks.error(t, id);
        } else if (state == SUMMED) {
            Hooks.failed(t, id);
        } else if (state != NOTHING) {
            if ((state & KIND) == SUMMED) {
                Hooks.stop(id, true, state >>> 2);
                return;
            }
            try {
                Hooks.free(t, state != PASSED, true, id);
            } catch (StackOverflowError deep) {
                // No call has room here.
                Hooks.stranded++;
                Hooks.adrift += state != PASSED ? 1 : 0;
                Hooks.adriftShort += state != PASSED ? 1 : 0;
            }
        }
    }

    /** Whether a call's values go into the trace. */
    static boolean isRecorded(int state) {
        return (state & KIND) == RECORDED;
    }

    private static int decided(int mode, int as, int id) {
        if (mode == Modes.SHARED) {
            mode = Modes.exactly(id);
        }
        if (mode == Modes.UNKNOWN) {
            Hooks.meet(id);
            mode = (as >>> 4 & 3) <= Modes.LEVEL ? Modes.RULES : Modes.OFF;
        }
        if (mode == Modes.RULES) {
            int said = as & KIND;
            if (said == 0 && (as & SAMPLED) != 0) {
                return Hooks.sampled(as >>> 8, (as & SECOND) != 0);
            }
            mode = said == 0 ? Modes.RECORD : said == 1 ? Modes.AGGREGATE : Modes.COUNT;
        }
        switch (mode) {
            case Modes.RECORD:
                return RECORDED;
            case Modes.AGGREGATE:
                return (as & AUTO) != 0 ? as >>> 8 << 2 | SUMMED : SUMMED;
            case Modes.COUNT:
                Hooks.count(id);
                return NOTHING;
            default:
                return NOTHING;
        }
    }

    /** The state of an outermost call that stands for so many. */
    static int taken(int weight) {
        return weight << 3 | TAKEN;
    }
}
