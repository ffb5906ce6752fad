package weave.runtime;

import java.io.File;
import java.text.SimpleDateFormat;
import java.util.Date;
import java.util.Locale;
import java.util.TimeZone;
import java.util.regex.Pattern;

/**
 * What the user has set, as a system property ({@code weave.trace.limit}) or else in the environment (the same in
 * capitals, {@code WEAVE_TRACE_LIMIT}); on Android, where an app is given neither, as {@link Android#setting} says.
 */
final class Settings {
    static final int RING = 0;
    static final int DROP = 1;
    static final int BLOCK = 2;

    private static final long DEFAULT_PATIENCE = 1_000;
    private static final long DEFAULT_RATE = 1_000_000;
    /** The header and three chunks: symbols maps may have one of them, and two threads are recorded. */
    private static final long LEAST = 4 * Format.CHUNK;

    final long pid;
    final File path;
    final long limit;
    /** One of {@link Limits}. */
    final int limitSetBy;
    /** Why the limit is below the usual one, as a sentence, or null. */
    final String limitMessage;
    final int policy;
    /** How long a thread waits for room under the policy {@link #BLOCK}, in milliseconds. */
    final long patience;
    /** Nanoseconds between two samples of what the process uses; 0 for none. */
    final long sample;
    /** Records a second that all threads may write before methods of mode "auto" are recorded less; 0 for any number. */
    final long rate;
    /** What draws of sampled calls begin with, or -1 for another in each process. */
    final long seed;
    /** The first setting that makes no sense, as a sentence, or null. */
    String complaint;
    /** How many traces of the same name pattern are kept. */
    private final long keep;
    /** The name that was asked for, with its placeholders. */
    private String wanted;

    Settings(long pid, long time) {
        this.pid = pid;
        path = path(get("weave.trace"), time);
        long set = limit(get("weave.trace.limit"));
        if (set >= 0) {
            limit = set;
            limitSetBy = Limits.USER;
            limitMessage = null;
        } else {
            // A telephone has less room, and each start of an app makes a file.
            long usual = Host.ANDROID ? 128 << 20 : 1 << 30;
            Limits chosen = new Limits(usual, path.getParentFile(), new File("/"));
            limit = chosen.limit;
            limitSetBy = chosen.by;
            limitMessage = chosen.reason == null ? null
                : limit < Limits.LEAST ? "no trace is written: its limit would be " + limit + " bytes (" + chosen.reason
                    + "), less than 1m; WEAVE_TRACE_LIMIT sets another"
                : "the trace's limit is " + (limit >> 20) + "m, " + chosen.reason + "; WEAVE_TRACE_LIMIT sets another";
        }
        policy = policy(get("weave.trace.policy"));
        patience = patience(get("weave.trace.block"));
        keep = keep(get("weave.trace.keep"));
        sample = sample(get("weave.trace.sample"));
        rate = rate(get("weave.trace.rate"));
        seed = seed(get("weave.trace.seed"));
        String level = get("weave.level");
        if (level != null && Control.level(level.toLowerCase(Locale.ROOT), -1) < 0 && complaint == null) {
            complaint = "weave.level: \"" + level + "\" is not error, info or debug; info is used";
        }
    }

    /** Why no trace is to be written, as a sentence, or null. */
    String refusal() {
        if (path.exists() && !path.isFile() && !path.isDirectory()) {
            return "no trace is written: " + path + " is not a regular file; WEAVE_TRACE=off does without a trace and without this line";
        }
        return limitSetBy == Limits.USER || limit >= Limits.LEAST ? null : limitMessage;
    }

    /**
     * Whether the process is traced; where it is not, no other setting is read. Hooks in the platform's own classes may ask before it has its
     * system properties: nothing is recorded then.
     */
    static boolean on() {
        try {
            return !"off".equalsIgnoreCase(get("weave.trace"));
        } catch (NullPointerException starting) {
            return false;
        }
    }

    /** Where lines of the library's go: null for the error stream, empty for nowhere, else a file. */
    static String logFile() {
        String value = get("weave.log");
        return value == null || value.equalsIgnoreCase("stderr") ? null
            : value.equalsIgnoreCase("off") ? "" : named(value, Host.pid(), System.currentTimeMillis(), false);
    }

    /** Whether what a switch names is written: unless it is set, and to anything but on. */
    static boolean isWritten(String key) {
        String value = get(key);
        return value == null || value.equalsIgnoreCase("on");
    }

    /** What the user masks, or null. */
    static String masks() {
        return get("weave.trace.mask");
    }

    /** The propagators that OTEL_PROPAGATORS names, for this library as for OpenTelemetry's; or null. */
    static String propagators() {
        return get("otel.propagators");
    }

    /** Which traces are recorded, in the same way; and a number of its own. */
    static String sampler() {
        return get("otel.traces.sampler");
    }

    static String samplerArgument() {
        return get("otel.traces.sampler.arg");
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

    private File path(String value, long time) {
        String name = "weave-%p.wtrace";
        File file;
        if (value == null || Host.ANDROID && value.equalsIgnoreCase("on")) {
            String plain = named(name, pid, time, false);
            file = Host.ANDROID ? Android.file(plain) : new File(plain).getAbsoluteFile();
        } else {
            file = new File(named(value, pid, time, false)).getAbsoluteFile();
            if (value.endsWith("/") || value.endsWith(File.separator) || file.isDirectory()) {
                file = new File(file, named(name, pid, time, false));
            } else {
                name = new File(value).getName();
            }
        }
        wanted = name;
        return file;
    }

    /** A name with its placeholders replaced: by what they stand for, or, as a pattern, by what they may. */
    private static String named(String name, long pid, long time, boolean pattern) {
        StringBuilder out = new StringBuilder();
        for (int i = 0; i < name.length(); i++) {
            char c = name.charAt(i);
            char next = c == '%' && i + 1 < name.length() ? name.charAt(i + 1) : 0;
            i += "pth%".indexOf(next) >= 0 && next != 0 ? 1 : 0;
            if (next == 'p') {
                out.append(pattern ? "\\d+" : Long.toString(pid));
            } else if (next == 't') {
                SimpleDateFormat format = new SimpleDateFormat("yyyyMMdd-HHmmss", Locale.ROOT);
                format.setTimeZone(TimeZone.getTimeZone("UTC"));
                out.append(pattern ? "\\d{8}-\\d{6}" : format.format(new Date(time)));
            } else if (next == 'h') {
                out.append(pattern ? "[A-Za-z0-9._-]+" : Host.name().replaceAll("[^A-Za-z0-9._-]", "_"));
            } else {
                out.append(pattern ? Pattern.quote(String.valueOf(c)) : String.valueOf(c));
            }
        }
        return out.toString();
    }

    /** Deletes the oldest traces of the pattern of this one's name, but for those that are still being written. */
    void sweep(File own) {
        if (keep < 0) {
            return;
        }
        try {
            boolean usual = wanted.endsWith(".wtrace");
            String stem = usual ? wanted.substring(0, wanted.length() - ".wtrace".length()) : wanted;
            Pattern names = Pattern.compile(named(stem, 0, 0, true) + "(-\\d+)?" + (usual ? "\\.wtrace" : ""));
            Keep.sweep(own, names, keep);
        } catch (Throwable t) {
            Log.say("old traces beside " + own + " were not deleted: " + t);
        }
    }

    /** A size, or -1 if none is set. */
    private long limit(String value) {
        if (value == null) {
            return -1;
        }
        int shift = 10 * (" kmg".indexOf(Character.toLowerCase(value.charAt(value.length() - 1))));
        long number = number(shift > 0 ? value.substring(0, value.length() - 1) : value);
        shift = Math.max(shift, 0);
        if (number < 0 || number > Long.MAX_VALUE >> shift) {
            complain("limit", value, "not a size such as 512m", Host.ANDROID ? "128m" : "1g");
            return -1;
        }
        if (number << shift < LEAST) {
            complain("limit", value, "below the least, 256k", "256k");
            return LEAST;
        }
        return number << shift;
    }

    private long keep(String value) {
        if (value == null || value.equalsIgnoreCase("all")) {
            return -1;
        }
        long number = number(value);
        if (number < 1) {
            complain("keep", value, "not a number of traces", "all");
            return -1;
        }
        return number;
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
        complain("policy", value, "not ring, drop or block", "ring");
        return RING;
    }

    /** Records a second, or 0 for any number. */
    private long rate(String value) {
        if (value == null) {
            return DEFAULT_RATE;
        }
        if (value.equalsIgnoreCase("off")) {
            return 0;
        }
        char last = Character.toLowerCase(value.charAt(value.length() - 1));
        long unit = last == 'k' ? 1_000 : last == 'm' ? 1_000_000 : 1;
        long number = number(unit > 1 ? value.substring(0, value.length() - 1) : value);
        if (number < 1 || number > Integer.MAX_VALUE) {
            complain("rate", value, "not off or a number of records a second, such as 500k", Long.toString(DEFAULT_RATE));
            return DEFAULT_RATE;
        }
        return number * unit;
    }

    private long seed(String value) {
        long number = value == null ? -1 : number(value);
        if (value != null && number < 0) {
            complain("seed", value, "not a number from 0 on", "another in each process");
        }
        return number;
    }

    private long patience(String value) {
        if (value == null) {
            return DEFAULT_PATIENCE;
        }
        long number = number(value);
        if (number < 0 || number > Integer.MAX_VALUE) {
            complain("block", value, "not a number of milliseconds", Long.toString(DEFAULT_PATIENCE));
            return DEFAULT_PATIENCE;
        }
        return number;
    }

    private long sample(String value) {
        // A telephone has a battery.
        long usual = Host.ANDROID ? 0 : 1_000;
        long number = value == null ? usual : value.equalsIgnoreCase("off") ? 0 : number(value);
        if (number < 0 || number > Integer.MAX_VALUE) {
            complain("sample", value, "not off or a number of milliseconds", usual == 0 ? "off" : Long.toString(usual));
            number = usual;
        }
        return number * 1_000_000L;
    }

    /** The level of the start, as one of {@link Control#LEVELS}. */
    static int startLevel() {
        String value = get("weave.level");
        int usual = Control.level("info", 0);
        return value == null ? usual : Control.level(value.toLowerCase(Locale.ROOT), usual);
    }

    /** A number that is not negative, else -1. */
    private static long number(String digits) {
        try {
            return Long.parseLong(digits);
        } catch (NumberFormatException e) {
            return -1;
        }
    }

    private void complain(String key, String value, String fault, String used) {
        if (complaint == null) {
            complaint = "weave.trace." + key + ": \"" + value + "\" is " + fault + "; " + used + " is used";
        }
    }
}
