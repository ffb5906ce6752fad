package weave.runtime;

import java.lang.reflect.Array;
import java.util.Collection;
import java.util.Map;

/**
 * Objects as texts, without running code of the program's, and without a lock: the program may hold it, or hold one that must be taken
 * later.
 */
final class Texts {
    /** Classes of the platform whose texts tell more than their names; none of them runs other code for it. */
    private static final String[] PLAIN = {
        "java.math.Big", "java.util.UUID", "java.util.Date", "java.util.Locale", "java.util.Currency",
        "java.net.URI", "java.io.File", "java.lang.Class", "java.sql.Date",
        "java.sql.Time", "java.util.concurrent.atomic.AtomicInteger", "java.util.concurrent.atomic.AtomicLong",
        "java.util.concurrent.atomic.AtomicBoolean", "java.lang.Byte", "java.lang.Short", "java.lang.Integer", "java.lang.Long",
        "java.lang.Float", "java.lang.Double", "java.lang.Boolean", "java.lang.Character", "java.lang.String",
        "java.util.concurrent.TimeUnit",
    };

    /** Collections of {@code java.util} that take a lock to tell their size, or change for it. */
    private static final String[] LOCKED = {
        "java.util.Vector", "java.util.Stack", "java.util.Hashtable", "java.util.Properties", "java.util.WeakHashMap",
    };
    /** Those of {@code java.util.concurrent} that neither take a lock nor count their elements. */
    private static final String[] FREE = {
        "java.util.concurrent.ConcurrentHashMap", "java.util.concurrent.CopyOnWriteArrayList",
        "java.util.concurrent.CopyOnWriteArraySet", "java.util.concurrent.LinkedBlockingQueue",
    };

    private Texts() {}

    /** A text, of which no more than so many units are asked for, and maybe a few more. */
    static String of(Object v, int limit, boolean units) {
        StringBuilder text = new StringBuilder();
        put(v, limit, 2, text, units);
        return text.toString();
    }

    /** The text that characters or bytes are. */
    private static String units(Object v, int limit) {
        return v instanceof char[] ? new String((char[]) v, 0, Math.min(((char[]) v).length, limit + 1))
            : new String((byte[]) v, 0, Math.min(((byte[]) v).length, limit + 1), java.nio.charset.StandardCharsets.UTF_8);
    }

    private static void put(Object v, int limit, int depth, StringBuilder text, boolean units) {
        if (v == null) {
            text.append("null");
            return;
        }
        if (units && (v instanceof char[] || v instanceof byte[])) {
            text.append(units(v, limit));
            return;
        }
        Class<?> type = v.getClass();
        if (type.isArray() && depth > 0) {
            text.append('[');
            int length = Array.getLength(v);
            for (int i = 0; i < length && text.length() <= limit; i++) {
                text.append(i == 0 ? "" : ", ");
                put(Array.get(v, i), limit, depth - 1, text, units);
            }
            text.append(']');
            return;
        }
        String name = type.getName();
        if (v instanceof Enum) {
            text.append(((Enum<?>) v).name());
        } else if (isPlain(name)) {
            String whole = v instanceof CharSequence ? start((CharSequence) v, limit) : v.toString();
            text.append(whole);
        } else {
            text.append(name);
            int size = size(v, name);
            if (size >= 0) {
                text.append('(').append(size).append(')');
            } else {
                text.append('@').append(Integer.toHexString(System.identityHashCode(v)));
            }
        }
    }

    private static String start(CharSequence text, int limit) {
        return text.length() <= limit ? text.toString() : text.subSequence(0, limit + 1).toString();
    }

    /** No class loader but the platform's own defines classes of java.*. A class inside one of the platform's may lead to the program's. */
    private static boolean isPlain(String name) {
        if (!name.startsWith("java.") || name.indexOf('$') >= 0 || name.equals("java.lang.StringBuffer")) {
            return false; // the buffer has a lock
        }
        if (name.startsWith("java.time.")) {
            return name.indexOf('.', "java.time.".length()) < 0; // formatters and chronologies are made of parts that may be the program's
        }
        for (String plain : PLAIN) {
            if (name.startsWith(plain)) {
                return true;
            }
        }
        return false;
    }

    /** How many elements a collection of the platform has; -1 for anything else. Its views may ask a collection of the program's. */
    private static int size(Object v, String name) {
        boolean own = name.startsWith("java.util.") && isFree(name) && (name.indexOf('$') < 0
            || name.startsWith("java.util.ImmutableCollections$") || name.startsWith("java.util.Arrays$"));
        if (own && v instanceof Collection) {
            return ((Collection<?>) v).size();
        }
        return own && v instanceof Map ? ((Map<?, ?>) v).size() : -1;
    }

    private static boolean isFree(String name) {
        boolean concurrent = name.startsWith("java.util.concurrent.");
        for (String known : concurrent ? FREE : LOCKED) {
            if (name.equals(known)) {
                return concurrent;
            }
        }
        return !concurrent;
    }
}
