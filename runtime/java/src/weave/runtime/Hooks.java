package weave.runtime;

/**
 * The hooks that woven code calls: one when a method is entered, and then exactly one when it is left, by a return
 * or by an exception.
 *
 * <p>A hook never changes what the program does, and throws nothing of its own; what it cannot record it counts.
 *
 * <p>What woven code calls is a few bytes, which compilers put into every caller, however rarely that runs. The rest is in {@link Recorder}.
 */
public final class Hooks {
    /** Nothing will ever be recorded: tracing is off, or the library cannot be initialised. */
    private static boolean silent;
    /**
     * What hooks need is initialised, and tracing is on. There is no static initialiser: at the end of the stack it would fail, and with it
     * each later call of a hook.
     */
    static boolean ready;
    /** Whether there is a ThreadDeath, which newer JDKs may not have. */
    static boolean deaths;

    /** Records lost by failures of hooks that had no lane to count them in. Not exact when threads collide here: it is never hot. */
    static int adrift;
    /** The same for want of stack. */
    static int adriftShort;
    /** Outermost sampled calls that ended without their lane. One that began under another number is taken to have ended. */
    static int stranded;

    private Hooks() {}

    /** The method {@code id} begins. */
    public static void enter(int id) {
        boolean on;
        try {
            on = On.ON;
        } catch (Error poisoned) {
            on = true; // no call: the stack may have no room for one
        }
        if (on) {
            Recorder.enter(id);
        }
    }

    /** The method {@code id} returns. */
    public static void exit(int id) {
        boolean on;
        try {
            on = On.ON;
        } catch (Error poisoned) {
            on = true; // no call: the stack may have no room for one
        }
        if (on) {
            Recorder.exit(id);
        }
    }

    /** The exception {@code t} leaves the method {@code id}. */
    public static void error(Throwable t, int id) {
        boolean on;
        try {
            on = On.ON;
        } catch (Error poisoned) {
            on = true; // no call: the stack may have no room for one
        }
        if (on) {
            Recorder.error(t, id);
        }
    }

    /**
     * The method {@code id} is left: by a return, where {@code t} is null, or else by that exception, which is then
     * thrown again. Dex code has one call of this where two would take more room.
     */
    @SuppressWarnings("unchecked") // T is erased: what is thrown is the same object, and nothing is called for it
    public static <T extends Throwable> void leave(Throwable t, int id) throws T {
        boolean on;
        try {
            on = On.ON;
        } catch (Error poisoned) {
            on = true; // no call: the stack may have no room for one
        }
        if (on) {
            Recorder.leave(t, id);
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
        boolean on;
        try {
            on = On.ON;
        } catch (Error poisoned) {
            on = true; // no call: the stack may have no room for one
        }
        if (on) {
            Recorder.leaf(id);
        }
    }

    /** The method {@code id} begins, which is only counted: nothing tells when it ends. */
    public static void count(int id) {
        boolean on;
        try {
            on = On.ON;
        } catch (Error poisoned) {
            on = true; // no call: the stack may have no room for one
        }
        if (on) {
            Recorder.count(id);
        }
    }

    /** The method {@code id} begins, whose calls are summed up here and are not in the trace one by one. */
    public static void start(int id) {
        boolean on;
        try {
            on = On.ON;
        } catch (Error poisoned) {
            on = true; // no call: the stack may have no room for one
        }
        if (on) {
            Recorder.start(id);
        }
    }

    /** The method {@code id}, which is summed up, returns. */
    public static void stop(int id) {
        boolean on;
        try {
            on = On.ON;
        } catch (Error poisoned) {
            on = true; // no call: the stack may have no room for one
        }
        if (on) {
            Recorder.stop(id);
        }
    }

    /** The exception {@code t} leaves the method {@code id}, which is summed up. */
    public static void failed(Throwable t, int id) {
        boolean on;
        try {
            on = On.ON;
        } catch (Error poisoned) {
            on = true; // no call: the stack may have no room for one
        }
        if (on) {
            Recorder.failed(t, id);
        }
    }

    /** As {@link #leave}, for a method that is summed up. */
    @SuppressWarnings("unchecked") // as there
    public static <T extends Throwable> void finish(Throwable t, int id) throws T {
        boolean on;
        try {
            on = On.ON;
        } catch (Error poisoned) {
            on = true; // no call: the stack may have no room for one
        }
        if (on) {
            Recorder.finish(t, id);
        }
        if (t != null) {
            throw (T) t;
        }
    }

    /** As {@link #leaf}, for a method that is summed up. */
    public static void moment(int id) {
        boolean on;
        try {
            on = On.ON;
        } catch (Error poisoned) {
            on = true; // no call: the stack may have no room for one
        }
        if (on) {
            Recorder.moment(id);
        }
    }

    /** Whether there is a trace to write: what is decided about a call asks first. */
    static boolean on() {
        try {
            if (!On.ON) {
                return false;
            }
        } catch (Error poisoned) {
            // it is not known
        }
        return ready || prime();
    }

    /** The method {@code id} begins, of which nothing is known yet, and its call may leave nothing in the trace. */
    static void meet(int id) {
        Lane lane = null;
        try {
            lane = Switch.LANES.lane();
            lane.meet(id);
        } catch (Throwable failure) {
            // Nothing is lost. The next call asks again.
            if (lane != null && !lane.busy) {
                lane.fault |= failure instanceof InternalError;
                lane.end = 0;
            }
            if (deaths && failure instanceof ThreadDeath) {
                throw (ThreadDeath) failure;
            }
        }
    }

    /** What becomes of a call that is sampled, one of {@code number} or so many a second: a state of {@link Switched}. */
    static int sampled(int number, boolean second) {
        Lane lane = null;
        try {
            lane = Switch.LANES.lane();
            return lane.sampled(number, second);
        } catch (Throwable failure) {
            // The stack may have no room left for a call: fields only. A record of its begin and one of its end are lost, if it had any.
            boolean deep = failure instanceof StackOverflowError;
            if (lane == null) {
                adrift += deep ? 0 : 2;
                adriftShort += deep ? 2 : 0;
            } else if (!lane.busy) {
                lane.failed++;
                if (lane.tree == Lane.TAKEN) {
                    lane.lost += 2;
                    lane.untold += 2;
                    lane.broken += 2;
                    lane.deep += deep ? 2 : 0;
                    lane.end = 0;
                }
            }
            if (deaths && failure instanceof ThreadDeath) {
                throw (ThreadDeath) failure;
            }
            return Switched.NOTHING;
        }
    }

    /** A call begins that is a span, for {@link Spans}. */
    static void begin(int kind, String once, int id) {
        Lane lane = null;
        try {
            lane = Switch.LANES.lane();
            lane.begin(kind, once, id, System.nanoTime());
        } catch (Throwable failure) {
            // The stack may have no room left for a call: fields only.
            boolean deep = failure instanceof StackOverflowError;
            if (lane == null) {
                adrift += deep ? 0 : 1;
                adriftShort += deep ? 1 : 0;
            } else if (!lane.busy) {
                lane.failed++;
                lane.lost += 1;
                lane.untold += 1;
                lane.broken += 1;
                lane.deep += deep ? 1 : 0;
                lane.fault |= failure instanceof InternalError;
                lane.end = 0;
            }
            if (deaths && failure instanceof ThreadDeath) {
                throw (ThreadDeath) failure;
            }
        }
    }

    /** Such a call ends, by the exception {@code t} if {@code error} says so. One that is quiet is not recorded. */
    static void end(Throwable t, boolean quiet, boolean error, int id) {
        Lane lane = null;
        try {
            long now = System.nanoTime();
            lane = Switch.LANES.lane();
            try {
                if (quiet) {
                    return;
                } else if (error) {
                    lane.error(t, id, now);
                } else {
                    lane.record(Format.EXIT, id, now);
                }
            } finally {
                lane.end(id);
            }
        } catch (Throwable failure) {
            // The stack may have no room left for a call: fields only.
            boolean deep = failure instanceof StackOverflowError;
            if (lane == null) {
                adrift += deep ? 0 : 1;
                adriftShort += deep ? 1 : 0;
            } else if (!lane.busy) {
                lane.failed++;
                lane.lost += 1;
                lane.untold += 1;
                lane.broken += 1;
                lane.deep += deep ? 1 : 0;
                lane.fault |= failure instanceof InternalError;
                lane.end = 0;
            }
            if (deaths && failure instanceof ThreadDeath) {
                throw (ThreadDeath) failure;
            }
        }
    }

    /** The span in which this thread runs; null where there is none. */
    static Span context() {
        if (!on()) {
            return null;
        }
        try {
            return Switch.LANES.lane().context();
        } catch (Throwable failure) {
            if (deaths && failure instanceof ThreadDeath) {
                throw (ThreadDeath) failure;
            }
            return null;
        }
    }

    /** The header that {@link Propagators} ask for as this one, or null. */
    static String asked(int which) {
        try {
            return Propagators.SET.asked(which);
        } catch (Throwable failure) {
            if (deaths && failure instanceof ThreadDeath) {
                throw (ThreadDeath) failure;
            }
            return null;
        }
    }

    /** The header that they send as this one, or null. */
    static String sent(int which) {
        try {
            return Propagators.SET.sent(which);
        } catch (Throwable failure) {
            if (deaths && failure instanceof ThreadDeath) {
                throw (ThreadDeath) failure;
            }
            return null;
        }
    }

    /** The headers that came in, with one more. */
    static Object came(Object before, int which, String value) {
        try {
            return Propagators.SET.came(before, which, value);
        } catch (Throwable failure) {
            if (deaths && failure instanceof ThreadDeath) {
                throw (ThreadDeath) failure;
            }
            return before;
        }
    }

    /** The headers that came in are a link of the span of this method, which ends. */
    static void link(Object came, int id) {
        try {
            Parent parent = Propagators.SET.parent(came);
            if (parent != null) {
                Switch.LANES.lane().value(parent.link(), Format.STRING, Span.LINK | Span.AT_END, Span.LONGEST_LINK, null, id);
            }
        } catch (Throwable failure) {
            if (deaths && failure instanceof ThreadDeath) {
                throw (ThreadDeath) failure;
            }
        }
    }

    /** What a header says that is sent of a span, or null. */
    static String value(int which, Span span) {
        try {
            return Propagators.SET.value(which, span);
        } catch (Throwable failure) {
            if (deaths && failure instanceof ThreadDeath) {
                throw (ThreadDeath) failure;
            }
            return null;
        }
    }

    /** What becomes of a call that is a span, for {@link Spans}. */
    static int decide(String once, Object came, int id) {
        try {
            Origin origin = came instanceof Origin ? (Origin) came : null;
            Object headers = origin == null ? came : origin.came;
            Parent from = headers == null ? null : Sampler.SET.decided(Propagators.SET.parent(headers));
            return Switch.LANES.lane().decide(once, from, origin, id);
        } catch (Throwable failure) {
            if (deaths && failure instanceof ThreadDeath) {
                throw (ThreadDeath) failure;
            }
            return Switched.NOTHING;
        }
    }

    /** This thread runs in this context until {@link #leave(Turn)}. */
    static Turn enter(Span span) {
        try {
            return new Turn(Switch.LANES.lane().run(span), null);
        } catch (Throwable failure) {
            if (deaths && failure instanceof ThreadDeath) {
                throw (ThreadDeath) failure;
            }
            return null;
        }
    }

    /** The thread is back in the context that it had. */
    static void leave(Turn turn) {
        if (turn == null) {
            return;
        }
        try {
            Switch.LANES.lane().run(turn.before);
        } catch (Throwable failure) {
            if (deaths && failure instanceof ThreadDeath) {
                throw (ThreadDeath) failure;
            }
        }
    }

    /** This thread goes on in a span that was kept; false where it cannot. */
    static boolean resume(Span span) {
        if (span == null || !(ready || prime()) || !Switch.ON) {
            return false;
        }
        try {
            return Switch.LANES.lane().resume(span);
        } catch (Throwable failure) {
            if (deaths && failure instanceof ThreadDeath) {
                throw (ThreadDeath) failure;
            }
            return false;
        }
    }

    /** It leaves that span, which may end here. */
    static void suspend(Throwable t, boolean ends, boolean error) {
        try {
            Switch.LANES.lane().suspend(t, ends, error, System.nanoTime());
        } catch (Throwable failure) {
            if (deaths && failure instanceof ThreadDeath) {
                throw (ThreadDeath) failure;
            }
        }
    }

    /** The object keeps the span of this method, which returns; false where it cannot. */
    static boolean keep(Object keep, int id) {
        try {
            Span span = Switch.LANES.lane().innermost(id);
            return span != null && Kept.put(keep, span);
        } catch (Throwable failure) {
            if (deaths && failure instanceof ThreadDeath) {
                throw (ThreadDeath) failure;
            }
            return false;
        }
    }

    /** The span of this method, which returns, ends with a stage; false where it cannot. */
    static boolean follow(Object stage, int id) {
        try {
            Span span = Switch.LANES.lane().innermost(id);
            if (span == null || !Stages.is(stage)) {
                return false;
            }
            span.stage = stage;
            return true;
        } catch (Throwable failure) {
            if (deaths && failure instanceof ThreadDeath) {
                throw (ThreadDeath) failure;
            }
            return false;
        }
    }

    /** A value of this method's call, which returns, is known when its stage is complete. */
    static void late(Late late, int place, int limit, String mask, int id) {
        try {
            Span span = Switch.LANES.lane().innermost(id);
            if (span != null) {
                late.place = place;
                late.limit = limit;
                late.mask = mask;
                late.before = span.late;
                span.late = late;
            }
        } catch (Throwable failure) {
            if (deaths && failure instanceof ThreadDeath) {
                throw (ThreadDeath) failure;
            }
        }
    }

    /** The stage of a span is complete, by the exception {@code t} if there is one. */
    static void complete(Span span, Throwable t) {
        try {
            for (Late late = span.late; late != null; late = late.before) {
                Values.value(late.value(), late.place, late.limit, late.mask, span.method);
            }
        } catch (Throwable failure) {
            if (deaths && failure instanceof ThreadDeath) {
                throw (ThreadDeath) failure;
            }
        }
        try {
            span.late = null;
            Switch.LANES.lane().complete(span, t, t != null, System.nanoTime());
        } catch (Throwable failure) {
            if (deaths && failure instanceof ThreadDeath) {
                throw (ThreadDeath) failure;
            }
        }
    }

    /** A call returns whose span goes on. */
    static void stay(int id) {
        try {
            Lane lane = Switch.LANES.lane();
            Span span = lane.innermost(id);
            lane.stay(id, System.nanoTime());
            if (span != null && span.stage != null) {
                Object stage = span.stage;
                span.stage = null;
                Stages.follow(stage, span);
            }
        } catch (Throwable failure) {
            if (deaths && failure instanceof ThreadDeath) {
                throw (ThreadDeath) failure;
            }
        }
    }

    /** As {@link #enter}, for an outermost sampled call. */
    static void outermost(int id, int weight) {
        Lane lane = null;
        try {
            lane = Switch.LANES.lane();
            lane.outermost(id, weight, System.nanoTime());
        } catch (Throwable failure) {
            // The stack may have no room left for a call: fields only.
            boolean deep = failure instanceof StackOverflowError;
            if (lane == null) {
                adrift += deep ? 0 : 1;
                adriftShort += deep ? 1 : 0;
            } else if (!lane.busy) {
                lane.failed++;
                lane.lost += 1;
                lane.untold += 1;
                lane.broken += 1;
                lane.deep += deep ? 1 : 0;
                lane.fault |= failure instanceof InternalError;
                lane.end = 0;
            }
            if (deaths && failure instanceof ThreadDeath) {
                throw (ThreadDeath) failure;
            }
        }
    }

    /** An outermost sampled call ends, by an exception if {@code error} says so; it is recorded or not. Its thread is free in any case. */
    static void free(Throwable t, boolean recorded, boolean error, int id) {
        Lane lane = null;
        try {
            long now = recorded ? System.nanoTime() : 0;
            lane = Switch.LANES.lane();
            if (!lane.busy) {
                lane.tree = Lane.NO_TREE;
            }
            if (!recorded) {
                return;
            }
            if (error) {
                lane.error(t, id, now);
            } else {
                lane.record(Format.EXIT, id, now);
            }
        } catch (Throwable failure) {
            // The stack may have no room left for a call: fields only.
            boolean deep = failure instanceof StackOverflowError;
            int missing = recorded ? 1 : 0;
            if (lane == null) {
                stranded++;
                adrift += deep ? 0 : missing;
                adriftShort += deep ? missing : 0;
            } else if (!lane.busy) {
                lane.failed++;
                lane.lost += missing;
                lane.untold += missing;
                lane.broken += missing;
                lane.deep += deep ? missing : 0;
                lane.fault |= failure instanceof InternalError;
                lane.end = 0;
            }
            if (deaths && failure instanceof ThreadDeath) {
                throw (ThreadDeath) failure;
            }
        }
    }

    /** A value of one word, for {@link Values}. */
    static void value(int kind, long word, int place, int limit, String mask, int id) {
        if (on()) {
            boolean learned = mask == null;
            Lane lane = null;
            try {
                for (String known : Secrets.masks) {
                    learned |= known == mask;
                }
                if (!learned) {
                    Secrets.learn(mask); // first of all: the trace may begin next
                    learned = true;
                }
                lane = Switch.LANES.lane();
                if (mask == null && Secrets.everywhere.length == 0) {
                    lane.value(place & 0xFFFF_FFFFL | kind, word, id);
                } else {
                    lane.masked(kind, word, place, limit, mask, id);
                }
            } catch (Throwable failure) {
                // The stack may have no room left for a call: fields only. A value is not counted as lost.
                Secrets.unsure |= !learned;
                if (lane != null && !lane.busy) {
                    lane.fault |= failure instanceof InternalError;
                    lane.end = 0;
                }
                if (deaths && failure instanceof ThreadDeath) {
                    throw (ThreadDeath) failure;
                }
            }
        }
    }

    /** The same for an object; as {@link Format#OTHER}: what its {@code toString} says. */
    static void value(Object v, int kind, int place, int limit, String mask, int id) {
        if (on()) {
            boolean learned = mask == null;
            Lane lane = null;
            try {
                for (String known : Secrets.masks) {
                    learned |= known == mask;
                }
                if (!learned) {
                    Secrets.learn(mask); // first of all: the trace may begin next
                    learned = true;
                }
                lane = Switch.LANES.lane();
                lane.value(v, kind, place, limit, mask, id);
            } catch (Throwable failure) {
                // The stack may have no room left for a call: fields only. A value is not counted as lost.
                Secrets.unsure |= !learned;
                if (lane != null && !lane.busy) {
                    lane.fault |= failure instanceof InternalError;
                    lane.end = 0;
                }
                if (deaths && failure instanceof ThreadDeath) {
                    throw (ThreadDeath) failure;
                }
            }
        }
    }

    /** What rules leave out of texts, for {@link Values#hold}. */
    static void hold(String mask, int how, int id) {
        if (on()) {
            boolean held = mask == null;
            try {
                // Without a call, so that all of it is known at the end of the stack, too.
                String[] masks = (how & Secrets.EVERYWHERE) != 0 ? Secrets.everywhere : Secrets.masks;
                for (String known : masks) {
                    held |= known == mask;
                }
                held |= masks.length > Secrets.MOST;
                held &= (how & Secrets.LEFT_OUT & ~Secrets.without) == 0;
                if (held && (how & Secrets.SILENT) != 0) {
                    int[] silent = Secrets.silent;
                    int at = id & silent.length - 1;
                    while (silent[at] != 0 && silent[at] != id) {
                        at = at + 1 & silent.length - 1;
                    }
                    held = silent[at] == id;
                }
                if (!held) {
                    Secrets.hold(mask, how, id);
                }
            } catch (Throwable failure) {
                // The stack may have no room left for a call: fields only.
                Secrets.unsure |= !held;
                if (deaths && failure instanceof ThreadDeath) {
                    throw (ThreadDeath) failure;
                }
            }
        }
    }

    /** Whether hooks have something to do, as a constant. */
    static boolean isOn() {
        try {
            return On.ON;
        } catch (Error poisoned) {
            return true;
        }
    }

    /** Whether a method that can be switched is off from the start, as a constant. */
    static boolean startsOff(int as) {
        try {
            return (as >>> 4 & 3) > On.LEVEL;
        } catch (Error poisoned) {
            return false;
        }
    }

    /** For {@link On}: the level of the start. Where the stack has no room to find it out nothing counts as off from the start. */
    static int startLevel() {
        try {
            probe(600, 0, 0, 0);
            return Switch.ON ? Settings.startLevel() : Integer.MAX_VALUE;
        } catch (Throwable unknown) {
            return Integer.MAX_VALUE;
        }
    }

    /** For {@link On}: whether hooks are to go on. */
    static boolean begins() {
        try {
            probe(600, 0, 0, 0);
            return Switch.ON;
        } catch (Throwable unknown) {
            return true;
        }
    }

    /**
     * Initialises what the hooks need, if the stack has room for it; else a later hook does. A class whose initialiser
     * fails can never be used again. Returns whether there is something to record.
     */
    static boolean prime() {
        if (silent) {
            return false;
        }
        try {
            probe(600, 0, 0, 0);
            // Resolves what the handlers here and in Recorder ask for.
            Object other = adrift == 0 ? "" : Switch.class;
            boolean error = other instanceof Error || other instanceof StackOverflowError || other instanceof InternalError || Recorder.isError(other);
            boolean on = Switch.ON;
            try {
                deaths = !(other instanceof ThreadDeath || Recorder.isDeath(other)) && !error;
            } catch (LinkageError newer) {
                deaths = false;
            }
            if (on) {
                Trace.prime();
            }
            ready = on;
            silent = !on;
            return on;
        } catch (StackOverflowError later) {
            adriftShort++;
            return false;
        } catch (LinkageError poisoned) {
            silent = true;
            return false;
        }
    }

    /** Fails with a StackOverflowError if the stack has no room for so many frames. */
    private static long probe(int frames, long a, long b, long c) {
        return frames == 0 ? a : 1 + probe(frames - 1, a + 1, b + a, c + b);
    }
}
