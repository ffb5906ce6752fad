package weave.runtime;

/**
 * The hooks of methods that can be switched while the program runs, in place of {@link Hooks}. {@link #enter} decides about a call, and what
 * it gives goes to the hook at its end: so a call ends as it began, whatever was switched in between and on whichever thread it goes on.
 *
 * <p>{@code as} is what the rules say: the mode in bits 0 and 1 (0 record, 1 aggregate, 2 count), whether the program itself decides how much
 * it records in bit 2, the level from bit 4 on, and from bit 8 on the microseconds beyond which a call is told by itself.
 */
public final class Switched {
    /** What a call's hooks give to each other. Above {@link #SUMMED} lie the microseconds beyond which it is told by itself. */
    private static final int NOTHING = 0;
    private static final int RECORDED = 1;
    private static final int SUMMED = 2;

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
            Hooks.start(id);
        }
    }

    /** The method {@code id} returns. */
    public static void exit(int state, int id) {
        if (state == RECORDED) {
            Hooks.exit(id);
        } else if (state == SUMMED) {
            Hooks.stop(id);
        } else if (state != NOTHING) {
            Hooks.stop(id, false, state >>> 2);
        }
    }

    /** The exception {@code t} leaves the method {@code id}. */
    public static void error(Throwable t, int state, int id) {
        if (state == RECORDED) {
            Hooks.error(t, id);
        } else if (state == SUMMED) {
            Hooks.failed(t, id);
        } else if (state != NOTHING) {
            Hooks.stop(id, true, state >>> 2);
        }
    }

    /** Whether a call's values go into the trace. */
    static boolean isRecorded(int state) {
        return state == RECORDED;
    }

    private static int decided(int mode, int as, int id) {
        if (mode == Modes.SHARED) {
            mode = Modes.exactly(id);
        }
        if (mode == Modes.UNKNOWN) {
            Hooks.meet(id);
            mode = (as >>> 4 & 15) <= Modes.LEVEL ? Modes.RULES : Modes.OFF;
        }
        if (mode == Modes.RULES) {
            int said = as & 3;
            mode = said == 0 ? Modes.RECORD : said == 1 ? Modes.AGGREGATE : Modes.COUNT;
        }
        switch (mode) {
            case Modes.RECORD:
                return RECORDED;
            case Modes.AGGREGATE:
                return as >>> 8 << 2 | SUMMED;
            case Modes.COUNT:
                Hooks.count(id);
                return NOTHING;
            default:
                return NOTHING;
        }
    }
}
