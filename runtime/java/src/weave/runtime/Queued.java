package weave.runtime;

/**
 * Contexts that go with an object, through a queue and elsewhere. Who gives it notes the context in which that happens, who takes it goes on
 * in that. An object that nobody holds any more is forgotten.
 */
public final class Queued {
    /** With so many objects at once no more contexts go. */
    private static final int MOST = 1 << 16;

    private static final Known<Span> ALL = new Known<Span>(MOST);

    private Queued() {}

    /** From here on the current context goes with the object; where there is none, none does. */
    public static void give(Object object) {
        try {
            Span span = Hooks.context();
            if (span == null) {
                ALL.forget(object);
            } else {
                ALL.put(object, span);
            }
        } catch (Throwable failure) {
            failed(failure);
        }
    }

    /** The context that goes with an object, or null. */
    static Span given(Object object) {
        return ALL.of(object);
    }

    /** A method begins that runs in the context of an object. What it gives is for {@link #done}. */
    public static Object begin(Object object) {
        try {
            Span span = given(object);
            return span == null || !Hooks.on() ? null : Hooks.enter(span);
        } catch (Throwable failure) {
            failed(failure);
            return null;
        }
    }

    /** A method begins that takes contexts from calls: they end with it. What it gives is for {@link #done}. */
    public static Object open() {
        try {
            return Hooks.on() ? Switch.LANES.lane().open() : null;
        } catch (Throwable failure) {
            failed(failure);
            return null;
        }
    }

    /** Such a method ends. */
    public static void done(Object begun) {
        if (begun instanceof Turn) {
            Hooks.leave((Turn) begun);
        } else if (begun instanceof Taken) {
            try {
                Switch.LANES.lane().close((Taken) begun);
            } catch (Throwable failure) {
                failed(failure);
            }
        }
    }

    /** From here on the thread goes on in the context of the object, in place of what it has taken before. */
    public static void take(Object object) {
        try {
            if (Hooks.on()) {
                Switch.LANES.lane().take(given(object));
            }
        } catch (Throwable failure) {
            failed(failure);
        }
    }

    /** The context that came in becomes a link of the span. */
    public static Object link(Object came) {
        try {
            return Origin.link(came);
        } catch (Throwable failure) {
            failed(failure);
            return null;
        }
    }

    /** The context that was given with the object becomes the span's parent. */
    public static Object parent(Object came, Object object) {
        try {
            return Origin.below(came, given(object));
        } catch (Throwable failure) {
            failed(failure);
            return came;
        }
    }

    /** The context that was given with the object becomes a link of the span; of a collection or an array, those of its elements do. */
    public static Object links(Object came, Object object) {
        try {
            return Origin.links(came, object);
        } catch (Throwable failure) {
            failed(failure); // a collection of the program's own
            return came;
        }
    }

    private static void failed(Throwable failure) {
        if (Hooks.deaths && failure instanceof ThreadDeath) {
            throw (ThreadDeath) failure;
        }
    }
}
