package weave.runtime;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/** Who is on the stack, before Java 9; nothing of the old security is used. */
final class Callers extends SecurityManager {
    private Callers() {}

    /** The classes of the running thread's frames, the innermost first. */
    static List<Class<?>> classes() {
        Class<?>[] classes = new Callers().getClassContext();
        return classes == null ? Collections.<Class<?>>emptyList() : Arrays.<Class<?>>asList(classes);
    }
}
