package weave.runtime;

/**
 * What {@link Switched} does for a call that is on. HotSpot's C2 inlines no method of a Throwable into methods of other classes, and these are
 * not to be inlined: methods that are off in the long run would keep the machine code of all hooks, and so would all that inlines them.
 */
final class OutOfLine extends Throwable {
    private static final long serialVersionUID = 1;

    private OutOfLine() {}

    /** The method {@code id}, whose mode this is, begins: what its calls' hooks give to each other. */
    static int begun(int mode, int as, int id) {
        int state = decided(mode, as, id);
        begin(state, id);
        return state;
    }

    /** The method {@code id}, which is off from the start, begins: one of the first such calls. */
    static void meet(int id) {
        if (Hooks.on()) {
            Hooks.meet(id);
        }
        try {
            Initial.met();
        } catch (Throwable later) {
            if (Hooks.deaths && later instanceof ThreadDeath) {
                throw (ThreadDeath) later;
            }
        }
    }

    static int decided(int mode, int as, int id) {
        if (!Hooks.on()) {
            return Switched.NOTHING;
        }
        if (mode == Modes.SHARED) {
            mode = Modes.exactly(id);
        }
        if (mode == Modes.UNKNOWN) {
            Hooks.meet(id);
            mode = (as >>> 4 & 3) <= Modes.LEVEL ? Modes.RULES : Modes.OFF;
        }
        if (mode == Modes.RULES) {
            int said = as & Switched.MODE;
            if (said == 0 && (as & Switched.SAMPLED) != 0) {
                return Hooks.sampled(as >>> 8, (as & Switched.SECOND) != 0);
            }
            mode = said == 0 ? Modes.RECORD : said == 1 ? Modes.AGGREGATE : Modes.COUNT;
        }
        switch (mode) {
            case Modes.RECORD:
                return Switched.RECORDED;
            case Modes.AGGREGATE:
                return (as & Switched.AUTO) != 0 ? as >>> 8 << 3 | Switched.SUMMED : Switched.SUMMED;
            case Modes.COUNT:
                Recorder.count(id);
                return Switched.NOTHING;
            default:
                return Switched.NOTHING;
        }
    }

    static void begin(int state, int id) {
        if (state == Switched.RECORDED) {
            Recorder.enter(id);
        } else if (state != Switched.NOTHING) {
            if ((state & Switched.KIND) == Switched.SUMMED) {
                Recorder.start(id);
            } else if (state != Switched.PASSED) {
                Hooks.outermost(id, state >>> 3);
            }
        }
    }

    static void exit(int state, int id) {
        if (state == Switched.RECORDED) {
            Recorder.exit(id);
        } else if (state == Switched.SUMMED) {
            Recorder.stop(id);
        } else if ((state & Switched.KIND) == Switched.SUMMED) {
            Recorder.stop(id, false, state >>> 3);
        } else {
            Hooks.free(null, state != Switched.PASSED, false, id);
        }
    }

    static void error(Throwable t, int state, int id) {
        if (state == Switched.RECORDED) {
            Recorder.error(t, id);
        } else if (state == Switched.SUMMED) {
            Recorder.failed(t, id);
        } else if ((state & Switched.KIND) == Switched.SUMMED) {
            Recorder.stop(id, true, state >>> 3);
        } else {
            Hooks.free(t, state != Switched.PASSED, true, id);
        }
    }
}
