package weave.runtime;

import java.io.File;
import java.util.Locale;

/**
 * What the user has set, as a system property ({@code weave.trace.limit}) or else in the environment (the same in
 * capitals, {@code WEAVE_TRACE_LIMIT}); on Android, where an app is given neither, as {@link Android#setting} says.
 */
final class Settings {
    static final int RING = 0;
    static final int DROP = 1;
    static final int BLOCK = 2;

    private static final long DEFAULT_PATIENCE = 1_000;

    final File path;
    final long limit;
    final int policy;
    /** How long a thread waits for room under the policy {@link #BLOCK}, in milliseconds. */
    final long patience;
    /** The first setting that makes no sense, as a sentence, or null. */
    String complaint;

    Settings(long pid) {
        path = path(get("weave.trace"), pid);
        limit = limit(get("weave.trace.limit"));
        policy = policy(get("weave.trace.policy"));
        patience = patience(get("weave.trace.block"));
    }

    /** All that is asked when tracing is off. */
    static boolean on() {
        return !"off".equalsIgnoreCase(get("weave.trace"));
    }

    private static String get(String key) {
        try {
            String value = System.getProperty(key);
            if (value == null) {
                value = System.getenv(key.toUpperCase(Locale.ROOT).replace('.', '_'));
            }
            if (value == null && Host.ANDROID) {
                value = Android.setting(key);
            }
            return value == null || value.isEmpty() ? null : value;
        } catch (SecurityException e) {
            return null;
        }
    }

    private static File path(String value, long pid) {
        String name = "weave-" + pid + ".wtrace";
        if (value == null || Host.ANDROID && value.equalsIgnoreCase("on")) {
            return Host.ANDROID ? Android.file(name) : new File(name).getAbsoluteFile();
        }
        File file = new File(value.replace("%p", Long.toString(pid))).getAbsoluteFile();
        boolean folder = value.endsWith("/") || value.endsWith(File.separator) || file.isDirectory();
        return folder ? new File(file, name) : file;
    }

    private long limit(String value) {
        // A telephone has less room, and each start of an app makes a file.
        String usual = Host.ANDROID ? "128m" : "1g";
        if (value == null) {
            value = usual;
        }
        int shift = 10 * (" kmg".indexOf(Character.toLowerCase(value.charAt(value.length() - 1))));
        long number = number(shift > 0 ? value.substring(0, value.length() - 1) : value);
        shift = Math.max(shift, 0);
        if (number < 0 || number > Long.MAX_VALUE >> shift) {
            complain("limit", value, "a size such as 512m", usual);
            return limit(null);
        }
        return number << shift;
    }

    private int policy(String value) {
        if (value == null || value.equalsIgnoreCase("ring")) {
            return RING;
        }
        if (value.equalsIgnoreCase("drop")) {
            return DROP;
        }
        if (value.equalsIgnoreCase("block")) {
            return BLOCK;
        }
        complain("policy", value, "ring, drop or block", "ring");
        return RING;
    }

    private long patience(String value) {
        if (value == null) {
            return DEFAULT_PATIENCE;
        }
        long number = number(value);
        if (number < 0 || number > Integer.MAX_VALUE) {
            complain("block", value, "a number of milliseconds", Long.toString(DEFAULT_PATIENCE));
            return DEFAULT_PATIENCE;
        }
        return number;
    }

    /** A number that is not negative, else -1. */
    private static long number(String digits) {
        try {
            return Long.parseLong(digits);
        } catch (NumberFormatException e) {
            return -1;
        }
    }

    private void complain(String key, String value, String expected, String used) {
        if (complaint == null) {
            complaint = "weave.trace." + key + ": \"" + value + "\" is not " + expected + "; " + used + " is used";
        }
    }
}
