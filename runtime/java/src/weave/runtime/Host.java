package weave.runtime;

import java.io.File;
import java.lang.reflect.Method;

/** What only some hosts can tell: asked by reflection, since the library is compiled for Java 8 and runs on Android. */
final class Host {
    private static final Method IS_VIRTUAL = isVirtual();

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

    static boolean isVirtual(Thread thread) {
        try {
            return IS_VIRTUAL != null && (Boolean) IS_VIRTUAL.invoke(thread);
        } catch (Exception e) {
            return false;
        }
    }

    /** The process's number, or 0. */
    static long pid() {
        try {
            Class<?> handle = Class.forName("java.lang.ProcessHandle");
            Object current = handle.getMethod("current").invoke(null);
            return (Long) handle.getMethod("pid").invoke(current);
        } catch (Throwable before9) {
            // then the next way
        }
        try {
            return Long.parseLong(new File("/proc/self").getCanonicalFile().getName());
        } catch (Throwable notLinux) {
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
