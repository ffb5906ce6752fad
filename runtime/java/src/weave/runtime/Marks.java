package weave.runtime;

import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.concurrent.ConcurrentHashMap;

/** The contexts of tasks that are noted, by the task itself. A task that nobody holds any more is forgotten. */
final class Marks {
    /** So many that nobody takes are too many: no more are noted then. */
    private static final int MOST = 1 << 16;

    private static final ConcurrentHashMap<Key, Span> ALL = new ConcurrentHashMap<Key, Span>();
    private static final ReferenceQueue<Object> GONE = new ReferenceQueue<Object>();

    private Marks() {}

    /** An object, by identity. */
    private static final class Key extends WeakReference<Object> {
        private final int hash;

        Key(Object task, ReferenceQueue<Object> queue) {
            super(task, queue);
            hash = System.identityHashCode(task);
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
            Object task = get();
            return task != null && other instanceof Key && ((Key) other).get() == task;
        }
    }

    static void put(Object task, Span span) {
        for (Reference<?> gone = GONE.poll(); gone != null; gone = GONE.poll()) {
            ALL.remove(gone);
        }
        if (ALL.size() < MOST) {
            ALL.put(new Key(task, GONE), span);
        }
    }

    /** What was noted for a task, once. */
    static Span take(Object task) {
        return ALL.isEmpty() || task == null ? null : ALL.remove(new Key(task, null));
    }
}
