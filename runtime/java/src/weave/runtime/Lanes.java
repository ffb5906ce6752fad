package weave.runtime;

/** Each thread's lane. */
final class Lanes extends ThreadLocal<Lane> {
    @Override
    protected Lane initialValue() {
        Lane.probe(400);
        set(Lane.MUTE); // what is called from here on may be woven
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
        return lane;
    }
}
