package weave.runtime;

import java.io.BufferedReader;
import java.io.File;
import java.io.FileReader;
import java.lang.reflect.Method;
import java.net.InetAddress;
import java.security.AccessController;
import java.security.PrivilegedAction;
import java.util.List;

/** What only some hosts can tell: asked by reflection, since the library is compiled for Java 8 and runs on Android. */
final class Host {
    private static final Method IS_VIRTUAL = isVirtual();

    /** Whether this is Java 21 or later. */
    static final boolean LOOM = IS_VIRTUAL != null;

    /** Whether this is Android's runtime. */
    static final boolean ANDROID = android();

    private Host() {}

    private static boolean android() {
        try {
            return "Dalvik".equals(System.getProperty("java.vm.name"));
        } catch (SecurityException e) {
            return false;
        }
    }

    private static Method isVirtual() {
        try {
            return Thread.class.getMethod("isVirtual");
        } catch (Throwable before21) {
            return null;
        }
    }

    /** Throws what another thread has thrown at this one to stop it. */
    static void pass(Throwable t) {
        if (t instanceof OutOfMemoryError) {
            return; // a class's name takes memory
        }
        if (t.getClass().getName().equals("java.lang.ThreadDeath")) {
            throw (Error) t;
        }
    }

    static boolean isVirtual(Thread thread) {
        try {
            // A virtual thread is of a class of its own.
            return LOOM && thread.getClass() != Thread.class && (Boolean) IS_VIRTUAL.invoke(thread);
        } catch (Exception e) {
            return false;
        }
    }

    /** The machine's name. */
    static String name() {
        try {
            BufferedReader in = new BufferedReader(new FileReader("/proc/sys/kernel/hostname"));
            try {
                return in.readLine().trim();
            } finally {
                in.close();
            }
        } catch (Exception notLinux) {
            // then the next way
        }
        try {
            String name = System.getenv("COMPUTERNAME");
            return name != null ? name : InetAddress.getLocalHost().getHostName();
        } catch (Exception unknown) {
            return "host";
        }
    }

    /** The process's number, or 0. */
    static long pid() {
        try {
            return Long.parseLong(new File("/proc/self").getCanonicalFile().getName());
        } catch (Exception notLinux) {
            // then the next way
        }
        try {
            Class<?> handle = Class.forName("java.lang.ProcessHandle");
            Object current = handle.getMethod("current").invoke(null);
            return (Long) handle.getMethod("pid").invoke(current);
        } catch (Throwable before9) {
            // then the next way
        }
        try {
            Object bean = Class.forName("java.lang.management.ManagementFactory").getMethod("getRuntimeMXBean").invoke(null);
            String name = (String) Class.forName("java.lang.management.RuntimeMXBean").getMethod("getName").invoke(bean);
            return Long.parseLong(name.substring(0, name.indexOf('@')));
        } catch (Throwable unknown) {
            return 0;
        }
    }

    /** Whether a class loader may go before the process does: it is neither the system's, nor above it, nor a launcher's. */
    static boolean collectible(ClassLoader own) {
        if (ANDROID || own == null || own.getClass().getName().startsWith("org.springframework.boot.loader.")) {
            return false;
        }
        try {
            for (ClassLoader l = ClassLoader.getSystemClassLoader(); l != null; l = l.getParent()) {
                if (l == own) {
                    return false;
                }
            }
            return true;
        } catch (SecurityException e) {
            return false;
        }
    }

    /**
     * A daemon thread, not started, that holds nothing of the thread that makes it: neither its inherited locals nor its
     * class loaders, and is not of its group, which may be interrupted as a whole. Null if none can be made.
     */
    static Thread daemon(final Runnable work, final String name) {
        try {
            return AccessController.doPrivileged(new PrivilegedAction<Thread>() {
                @Override
                public Thread run() {
                    ThreadGroup group = Thread.currentThread().getThreadGroup();
                    while (group != null && group.getParent() != null) {
                        group = group.getParent();
                    }
                    Thread thread;
                    try {
                        thread = Java9.thread(group, work, name);
                    } catch (LinkageError before9) {
                        thread = new Thread(group, work, name);
                    }
                    thread.setDaemon(true);
                    thread.setPriority(Thread.NORM_PRIORITY);
                    thread.setContextClassLoader(null);
                    return thread;
                }
            });
        } catch (Exception forbidden) {
            return null;
        } catch (LinkageError noAccessController) {
            return null;
        }
    }

    /** The classes of the running thread's frames, the innermost first; fails if the stack may end meanwhile. */
    static List<Class<?>> callers() {
        Lane.probe(400); // a class whose initialisation fails here would be gone for the program, too
        try {
            return Java9.callers();
        } catch (LinkageError before9) {
            return Callers.classes();
        }
    }

    /** Whether the usual look-up asks the loaders of all classes on the stack; false where that cannot be told. */
    static boolean ordinary() {
        try {
            return Java9.ordinary();
        } catch (LinkageError before9) {
            return false;
        }
    }

    /** Before the disk is used by whatever thread calls a hook; returns what {@link #endDisk} takes. */
    static Object beginDisk() {
        return ANDROID ? Android.allowDisk() : null;
    }

    static void endDisk(Object state) {
        if (state != null) {
            Android.restoreDisk(state);
        }
    }

    /** The command line, as far as it is known. */
    static String command() {
        if (ANDROID) {
            return Android.command();
        }
        try {
            return System.getProperty("sun.java.command");
        } catch (SecurityException e) {
            return null;
        }
    }
}
