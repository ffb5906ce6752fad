package weave.runtime;

import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.util.concurrent.ConcurrentHashMap;

/** What is known of objects that do not tell it themselves. An object that nobody holds any more is forgotten. */
final class Known<V> {
    private final ConcurrentHashMap<Weak, V> all = new ConcurrentHashMap<Weak, V>();
    private final ReferenceQueue<Object> gone = new ReferenceQueue<Object>();
    /** Of so many at once no more are noted. */
    private final int most;

    Known() {
        this(Integer.MAX_VALUE);
    }

    Known(int most) {
        this.most = most;
    }

    void put(Object object, V value) {
        for (Reference<?> one = gone.poll(); one != null; one = gone.poll()) {
            all.remove(one);
        }
        if (object != null && value != null) {
            if (all.size() < most) {
                all.put(new Weak(object, gone), value);
            } else {
                all.replace(new Weak(object, null), value);
            }
        }
    }

    void forget(Object object) {
        if (object != null && !all.isEmpty()) {
            all.remove(new Weak(object, null));
        }
    }

    /** Null where nothing is known. */
    V of(Object object) {
        return object == null || all.isEmpty() ? null : all.get(new Weak(object, null));
    }
}
