package weave.runtime;

/**
 * The second way by which a thread comes to the context of who started it, whoever's code that was. A thread's value is its lane; what a thread
 * that it starts gets is the span in which it runs at that time.
 */
final class Net extends InheritableThreadLocal<Object> {
    /** Some thread has a value. */
    private static volatile boolean used;
    private static final Net NET = new Net();

    private Net() {}

    /** What this thread starts runs in its context. Not where the library may go before its threads do. */
    static boolean cast(Lane lane) {
        if (!Switch.COLLECTIBLE) {
            NET.set(lane);
            used = true;
        }
        return true;
    }

    /** What a new lane's thread has got from who started it. */
    static void catchInto(Lane lane) {
        if (used) {
            Object from = NET.get();
            if (from instanceof Span && !((Span) from).over) {
                lane.inherit((Span) from);
            }
        }
    }

    @Override
    protected Object childValue(Object parent) {
        return parent instanceof Lane ? ((Lane) parent).context() : parent;
    }
}
