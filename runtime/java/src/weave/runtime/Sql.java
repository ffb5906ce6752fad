package weave.runtime;

import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The SQL text of prepared statements, which they do not tell: hooks of {@code pack:jdbc} note it when they are prepared, and ask for it
 * when they run. No method of a statement is called for it.
 */
public final class Sql {
    private Sql() {}

    private static final class Texts {
        static final ConcurrentHashMap<Key, String> ALL = new ConcurrentHashMap<Key, String>();
        static final ReferenceQueue<Object> GONE = new ReferenceQueue<Object>();
    }

    /** A statement, which may go. */
    private static final class Key extends WeakReference<Object> {
        private final int hash;

        Key(Object statement, ReferenceQueue<Object> queue) {
            super(statement, queue);
            hash = System.identityHashCode(statement);
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
            return mine != null && other instanceof Key && ((Key) other).get() == mine;
        }
    }

    /** A statement was prepared with this text. */
    public static void prepared(Object statement, String sql) {
        for (Reference<?> gone = Texts.GONE.poll(); gone != null; gone = Texts.GONE.poll()) {
            Texts.ALL.remove(gone);
        }
        if (statement != null && sql != null) {
            Texts.ALL.put(new Key(statement, Texts.GONE), sql);
        }
    }

    /** The text that a statement was prepared with, or null. */
    public static String of(Object statement) {
        return Texts.ALL.get(new Key(statement, null));
    }
}
