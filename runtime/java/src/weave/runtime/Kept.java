package weave.runtime;

import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.util.concurrent.ConcurrentHashMap;

/** Spans that go on behind their methods, by the objects that keep them. An object that nobody holds any more keeps nothing. */
final class Kept {
    /** So many at once are too many: spans end with their methods then. */
    private static final int MOST = 1 << 16;

    private static final ConcurrentHashMap<Weak, Span> ALL = new ConcurrentHashMap<Weak, Span>();
    private static final ReferenceQueue<Object> GONE = new ReferenceQueue<Object>();

    private Kept() {}

    /** False where there is no room. */
    static boolean put(Object keep, Span span) {
        for (Reference<?> gone = GONE.poll(); gone != null; gone = GONE.poll()) {
            ALL.remove(gone);
        }
        if (ALL.size() >= MOST) {
            return false;
        }
        ALL.put(new Weak(keep, GONE), span);
        return true;
    }

    /** The span that an object keeps, which may be over; or null. */
    static Span of(Object keep) {
        return ALL.isEmpty() || keep == null ? null : ALL.get(new Weak(keep, null));
    }

    /** The span that an object keeps and that is not over; or null. */
    static Span open(Object keep) {
        Span span = of(keep);
        return span == null || span.over ? null : span;
    }
}
