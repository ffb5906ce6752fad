package weave.runtime;

import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.util.concurrent.ConcurrentHashMap;

/** What is known of objects that do not tell it themselves. An object that nobody holds any more is forgotten. */
final class Known<V> {
    private final ConcurrentHashMap<Weak, V> all = new ConcurrentHashMap<Weak, V>();
    private final ReferenceQueue<Object> gone = new ReferenceQueue<Object>();

    void put(Object object, V value) {
        for (Reference<?> one = gone.poll(); one != null; one = gone.poll()) {
            all.remove(one);
        }
        if (object != null && value != null) {
            all.put(new Weak(object, gone), value);
        }
    }

    /** Null where nothing is known. */
    V of(Object object) {
        return object == null || all.isEmpty() ? null : all.get(new Weak(object, null));
    }
}
