package weave.runtime;

import java.io.File;
import java.io.FileInputStream;
import java.io.InputStream;
import java.lang.reflect.Method;
import java.util.Properties;

/** What is different on Android. No class of it is there when this is compiled, and on a JVM this class is never loaded. */
final class Android {
    /** Each user of a device has so many user ids (android.os.UserHandle). */
    private static final int IDS_PER_USER = 100_000;
    private static final String CONTROL_FILE = "weave.properties";
    private static final long CONTROL_LIMIT = 65_536;

    private static final File FILES = files();
    private static final Properties CONTROL = control();

    private Android() {}

    /** A setting: the device's property {@code debug.weave.trace}, or else one in the control file. */
    static String setting(String key) {
        try {
            Class<?> properties = Class.forName("android.os.SystemProperties");
            Object value = properties.getMethod("get", String.class).invoke(null, "debug." + key);
            if (value != null && !value.equals("")) {
                return (String) value;
            }
        } catch (Throwable hidden) {
            // then the control file
        }
        return CONTROL.getProperty(key);
    }

    /** A file in the app's own folder for files. */
    static File file(String name) {
        return new File(FILES, name);
    }

    /**
     * The app's folder for files, of the user that it runs for. There is no Context to ask; but before any code of an
     * app runs Android says where its cache is, which is beside it.
     */
    private static File files() {
        String cache = System.getProperty("java.io.tmpdir", "");
        File data = new File(cache).getParentFile();
        if (!cache.endsWith("/cache") || data == null) {
            String process = command();
            int end = process.indexOf(':'); // "com.acme.app:remote" is a second process of an app
            data = new File("/data/user/" + uid() / IDS_PER_USER + '/' + (end < 0 ? process : process.substring(0, end)));
        }
        return new File(data, "files");
    }

    private static int uid() {
        try {
            return (Integer) Class.forName("android.os.Process").getMethod("myUid").invoke(null);
        } catch (Throwable unknown) {
            return 0;
        }
    }

    private static Properties control() {
        Properties control = new Properties();
        Object policy = allowDisk();
        try {
            File file = file(CONTROL_FILE);
            if (file.isFile() && file.length() <= CONTROL_LIMIT) {
                InputStream in = new FileInputStream(file);
                try {
                    control.load(in);
                } finally {
                    in.close();
                }
            }
        } catch (Throwable unreadable) {
            // then nothing is set
        } finally {
            restoreDisk(policy);
        }
        return control;
    }

    /** The process's name, which for an app is its package. */
    static String command() {
        try {
            InputStream in = new FileInputStream("/proc/self/cmdline");
            try {
                StringBuilder name = new StringBuilder();
                for (int c; (c = in.read()) > 0 && name.length() < 256;) {
                    name.append((char) c);
                }
                return name.toString();
            } finally {
                in.close();
            }
        } catch (Throwable unreadable) {
            return "";
        }
    }

    /**
     * Lets this thread use the disk, which developers forbid their main thread by StrictMode; returns what
     * {@link #restoreDisk} takes.
     */
    static Object allowDisk() {
        try {
            return Class.forName("android.os.StrictMode").getMethod("allowThreadDiskWrites").invoke(null);
        } catch (Throwable absent) {
            return null;
        }
    }

    static void restoreDisk(Object policy) {
        if (policy != null) {
            try {
                for (Method method : Class.forName("android.os.StrictMode").getMethods()) {
                    if (method.getName().equals("setThreadPolicy")) {
                        method.invoke(null, policy);
                    }
                }
            } catch (Throwable absent) {
                // then the disk stays allowed
            }
        }
    }
}
