package weave.runtime;

import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.util.concurrent.ConcurrentHashMap;

/** The contexts of tasks that are noted, by the task itself. A task that nobody holds any more is forgotten. */
final class Marks {
    /** So many that nobody takes are too many: no more are noted then. */
    private static final int MOST = 1 << 16;

    private static final ConcurrentHashMap<Weak, Span> ALL = new ConcurrentHashMap<Weak, Span>();
    private static final ReferenceQueue<Object> GONE = new ReferenceQueue<Object>();

    private Marks() {}

    static void put(Object task, Span span) {
        for (Reference<?> gone = GONE.poll(); gone != null; gone = GONE.poll()) {
            ALL.remove(gone);
        }
        if (ALL.size() < MOST) {
            ALL.put(new Weak(task, GONE), span);
        }
    }

    /** What was noted for a task, once. */
    static Span take(Object task) {
        return ALL.isEmpty() || task == null ? null : ALL.remove(new Weak(task, null));
    }
}
