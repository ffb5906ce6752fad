package weave.runtime;

import java.lang.ref.WeakReference;

/** Each thread's lane; or, where the library must not be held by a thread that outlives it, a weak reference to it. */
final class Lanes extends ThreadLocal<Object> {
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
        Lane.probe(400);
        mute(); // what is called from here on may be woven
        Lane lane = null;
        try {
            lane = Trace.lane(Thread.currentThread());
        } finally {
            if (lane == null) {
                remove(); // so that the next hook tries again
            }
        }
        if (lane == null) {
            throw new IllegalStateException();
        }
        // The store holds a platform thread's lane; a virtual thread's goes with its thread.
        return Switch.COLLECTIBLE && lane.thread != null ? new WeakReference<Lane>(lane) : lane;
    }
}
