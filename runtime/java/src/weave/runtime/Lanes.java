package weave.runtime;

import java.lang.ref.WeakReference;

/** Each thread's lane; or, where the library must not be held by a thread that outlives it, a weak reference to it. */
final class Lanes extends ThreadLocal<Object> {
    /** There was no memory for a lane, so that none is made until then. */
    private volatile long fullUntil = System.nanoTime();
    private final IllegalStateException noLane = new IllegalStateException();

    /** The lane of the running thread. */
    Lane lane() {
        Object value = get();
        return Switch.COLLECTIBLE ? weak(value) : (Lane) value;
    }

    /** The thread's hooks do nothing from here on. */
    void mute() {
        set(Switch.COLLECTIBLE ? new WeakReference<Lane>(Lane.MUTE) : Lane.MUTE);
    }

    @SuppressWarnings("unchecked")
    private Lane weak(Object value) {
        return value instanceof Lane ? (Lane) value : ((WeakReference<Lane>) value).get();
    }

    @Override
    protected Object initialValue() {
        if (System.nanoTime() - fullUntil < 0) {
            throw noLane;
        }
        Lane.probe(400);
        Lane lane = null;
        try {
            mute(); // what is called from here on may be woven
            lane = Trace.lane(Thread.currentThread());
        } catch (OutOfMemoryError full) {
            fullUntil = System.nanoTime() + Store.DRY_SPELL; // each try would collect garbage
            throw full;
        } finally {
            if (lane == null) {
                remove(); // so that the next hook tries again
            }
        }
        if (lane == null) {
            throw noLane;
        }
        Net.catchInto(lane);
        // The store holds a platform thread's lane; a virtual thread's goes with its thread.
        return Switch.COLLECTIBLE && lane.thread != null ? new WeakReference<Lane>(lane) : lane;
    }
}
