package weave.runtime;

import java.util.Collection;

/** What decides a span's parent and links beside its thread's context: the headers that came in, and contexts that were given with objects. */
final class Origin {
    /** A span has so many links at most. */
    static final int MOST_LINKS = 128;
    /** Of a batch so many objects are looked at. */
    private static final int MOST_OBJECTS = 1024;

    /** The headers that came in, for {@link Propagators}; null where they are a link, or none came. */
    final Object came;
    /** Its parent, or null. */
    final Span given;
    private final String[] links;
    private int count;

    private Origin(Object came, Span given, int links) {
        this.came = came;
        this.given = given;
        this.links = new String[links];
    }

    /** What came in is a link. */
    static Object link(Object came) {
        Parent parent = came == null ? null : Propagators.SET.parent(came);
        if (parent == null) {
            return null;
        }
        Origin origin = new Origin(null, null, 1);
        origin.links[origin.count++] = parent.link();
        return origin;
    }

    /** What was given with an object is the parent. */
    static Object below(Object came, Span given) {
        return given == null ? came : new Origin(came, given, 0);
    }

    /** What was given with an object is a link; of a collection or an array, what was given with each of its elements. */
    static Object links(Object came, Object object) {
        Origin before = came instanceof Origin ? (Origin) came : null;
        Origin origin = new Origin(before == null ? came : before.came, null, MOST_LINKS);
        for (int i = 0; before != null && i < before.count; i++) {
            origin.links[origin.count++] = before.links[i];
        }
        if (!origin.add(object)) {
            int left = MOST_OBJECTS;
            if (object instanceof Collection) {
                for (Object one : (Collection<?>) object) {
                    if (left-- == 0) {
                        break;
                    }
                    origin.add(one);
                }
            } else if (object instanceof Object[]) {
                Object[] all = (Object[]) object;
                for (int i = 0; i < all.length && i < left; i++) {
                    origin.add(all[i]);
                }
            }
        }
        return origin.count == 0 ? came : origin;
    }

    private boolean add(Object object) {
        Span given = Queued.given(object);
        if (given == null || count == links.length) {
            return given != null;
        }
        String link = given.link();
        for (int i = 0; i < count; i++) {
            if (links[i].equals(link)) {
                return true;
            }
        }
        links[count++] = link;
        return true;
    }

    int links() {
        return count;
    }

    String link(int which) {
        return links[which];
    }
}
