package weave.runtime;

import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;

/** An object of the program as a key, by identity. It may go. */
final class Weak extends WeakReference<Object> {
    private final int hash;

    Weak(Object of, ReferenceQueue<Object> queue) {
        super(of, queue);
        hash = System.identityHashCode(of);
    }

    @Override
    public int hashCode() {
        return hash;
    }

    @Override
    public boolean equals(Object other) {
        if (this == other) {
            return true;
        }
        Object mine = get();
        return mine != null && other instanceof Weak && ((Weak) other).get() == mine;
    }
}
