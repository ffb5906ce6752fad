package weave.runtime;

import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * What only Java 9 and later have. Compiled against a newer library than the rest, since reflection takes ten milliseconds
 * of a start; where a method is not there, calling it throws a LinkageError.
 */
final class Java9 implements Consumer<StackWalker.StackFrame> {
    private final List<Class<?>> classes = new ArrayList<Class<?>>();

    private Java9() {}

    /** The classes of the running thread's frames, the innermost first. */
    static List<Class<?>> callers() {
        Java9 seen = new Java9();
        StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE).forEach(seen);
        return seen.classes;
    }

    @Override
    public void accept(StackWalker.StackFrame frame) {
        classes.add(frame.getDeclaringClass());
    }

    /**
     * Whether all code on the stack seems to be the platform's or the system class loader's. By names, which anybody may give;
     * but the first look at classes takes milliseconds.
     */
    static boolean ordinary() {
        for (StackTraceElement frame : new Throwable().getStackTrace()) {
            String loader = frame.getClassLoaderName();
            String module = frame.getModuleName();
            boolean platform = loader == null && module != null && (module.startsWith("java.") || module.startsWith("jdk."));
            if (!platform && !"app".equals(loader) && !"platform".equals(loader)) {
                return false;
            }
        }
        return true;
    }

    static void releaseFence() {
        VarHandle.releaseFence();
    }

    /** A thread that does not inherit locals. */
    static Thread thread(ThreadGroup group, Runnable work, String name) {
        return new Thread(group, work, name, 0, false);
    }
}
