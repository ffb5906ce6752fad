package weave.runtime;

/**
 * The hooks that woven code calls: one when a method is entered, and then exactly one when it is left, by a return
 * or by an exception.
 *
 * <p>A hook never changes what the program does, and throws nothing of its own; what it cannot record it counts. When tracing is
 * off, {@link #ON} is a constant and the compiler removes the bodies.
 */
public final class Hooks {
    /** Whether this process is traced; decided once, so that enters and exits balance. */
    static final boolean ON = Settings.on();

    static final Lanes LANES = ON ? new Lanes() : null;

    /** Failures of hooks that had no lane to count them in. Not exact when threads collide here: it is never hot. */
    static int adrift;

    private Hooks() {}

    /** The method {@code id} begins. */
    public static void enter(int id) {
        if (ON) {
            Lane lane = null;
            try {
                // The clock last: the look-up is not time of the method.
                lane = LANES.get();
                lane.record(Format.ENTER, id, System.nanoTime());
            } catch (Throwable failure) {
                // The stack may have no room left for a call: fields only.
                if (lane == null) {
                    adrift++;
                } else if (!lane.busy) {
                    lane.failed++;
                    lane.lost++;
                    lane.untold++;
                    lane.end = 0;
                }
            }
        }
    }

    /** The method {@code id} returns. */
    public static void exit(int id) {
        if (ON) {
            Lane lane = null;
            try {
                long now = System.nanoTime();
                lane = LANES.get();
                lane.record(Format.EXIT, id, now);
            } catch (Throwable failure) {
                if (lane == null) {
                    adrift++;
                } else if (!lane.busy) {
                    lane.failed++;
                    lane.lost++;
                    lane.untold++;
                    lane.end = 0;
                }
            }
        }
    }

    /** The exception {@code t} leaves the method {@code id}. */
    public static void error(Throwable t, int id) {
        if (ON) {
            Lane lane = null;
            try {
                long now = System.nanoTime();
                lane = LANES.get();
                lane.error(t, id, now);
            } catch (Throwable failure) {
                if (lane == null) {
                    adrift++;
                } else if (!lane.busy) {
                    lane.failed++;
                    lane.lost++;
                    lane.untold++;
                    lane.end = 0;
                }
            }
        }
    }

    /**
     * The method {@code id} is left: by a return, where {@code t} is null, or else by that exception, which is then
     * thrown again. Dex code has one call of this where two would take more room.
     */
    @SuppressWarnings("unchecked") // T is erased: what is thrown is the same object, and nothing is called for it
    public static <T extends Throwable> void leave(Throwable t, int id) throws T {
        if (ON) {
            Lane lane = null;
            try {
                long now = System.nanoTime();
                lane = LANES.get();
                if (t == null) {
                    lane.record(Format.EXIT, id, now);
                } else {
                    lane.error(t, id, now);
                }
            } catch (Throwable failure) {
                if (lane == null) {
                    adrift++;
                } else if (!lane.busy) {
                    lane.failed++;
                    lane.lost++;
                    lane.untold++;
                    lane.end = 0;
                }
            }
        }
        if (t != null) {
            throw (T) t;
        }
    }

    /**
     * The method {@code id} begins and returns, all at one time. Dex code calls this in place of both where a method's
     * own code neither calls, loops nor throws: reading the clock twice takes longer than that.
     */
    public static void leaf(int id) {
        if (ON) {
            Lane lane = null;
            int missing = 2;
            try {
                lane = LANES.get();
                long now = System.nanoTime();
                lane.record(Format.ENTER, id, now);
                missing = 1;
                lane.record(Format.EXIT, id, now);
            } catch (Throwable failure) {
                if (lane == null) {
                    adrift++;
                } else if (!lane.busy) {
                    lane.failed++;
                    lane.lost += missing;
                    lane.untold += missing;
                    lane.end = 0;
                }
            }
        }
    }
}
