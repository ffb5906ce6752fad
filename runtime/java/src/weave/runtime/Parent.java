package weave.runtime;

/** The context that came in with a request, as one of the {@link Propagators} has it. What is wrong with it makes it none at all. */
final class Parent {
    private static final int LONGEST = 512; // of what is no list of any length
    private static final int LONGEST_STATE = 512; // W3C Trace Context, 3.3.1.5: what must be passed on
    private static final int LONGEST_BAGGAGE = 8_192; // W3C Baggage, 3.3.2

    final long traceHigh;
    final long traceLow;
    final long id;
    final int flags;
    final String state;
    final String baggage;

    private Parent(long traceHigh, long traceLow, long id, int flags, String state, String baggage) {
        this.traceHigh = traceHigh;
        this.traceLow = traceLow;
        this.id = id;
        this.flags = flags;
        this.state = state;
        this.baggage = baggage;
    }

    /** The same with this baggage. */
    Parent with(String text) {
        return new Parent(traceHigh, traceLow, id, flags, state, passable(text, LONGEST_BAGGAGE));
    }

    /** The same, recorded or not. */
    Parent with(boolean sampled) {
        return new Parent(traceHigh, traceLow, id, flags & ~Span.SAMPLED | (sampled ? Span.SAMPLED : 0), state, baggage);
    }

    /** What a span's link to it says. */
    String link() {
        return Span.link(Span.traceparent(traceHigh, traceLow, id, flags), state);
    }

    /** No span of another process: what a trace that begins here has. */
    static Parent root(long traceHigh, long traceLow, boolean sampled, String state) {
        return new Parent(traceHigh, traceLow, 0, Span.RANDOM | (sampled ? Span.SAMPLED : 0), state, null);
    }

    /** Of hexadecimal digits in lower case; null where the trace or the span is 0. */
    private static Parent of(String trace, String id, int flags, String state) {
        int middle = Math.max(0, trace.length() - 16);
        long high = hex(trace, 0, middle);
        long low = hex(trace, middle, trace.length());
        long span = hex(id, 0, id.length());
        return (high | low) == 0 || span == 0 ? null : new Parent(high, low, span, flags | Span.REMOTE, state, null);
    }

    /** Reads a {@code traceparent} (3.2.2); null where it is none. Versions behind the first may have more to say. */
    static Parent of(String text, String state) {
        if (text == null) {
            return null;
        }
        int length = text.length();
        boolean isFirst = text.startsWith("00-");
        if (length < 55 || isFirst && length != 55 || length > 55 && text.charAt(55) != '-' || text.startsWith("ff")
            || length > LONGEST || text.charAt(2) != '-' || text.charAt(35) != '-' || text.charAt(52) != '-'
            || !isHex(text, 0, 2) || !isHex(text, 3, 35) || !isHex(text, 36, 52) || !isHex(text, 53, 55)) {
            return null;
        }
        int flags = (int) hex(text, 53, 55) & (Span.SAMPLED | Span.RANDOM);
        return of(text.substring(3, 35), text.substring(36, 52), flags, passable(state, LONGEST_STATE));
    }

    /** Reads a {@code b3} header: trace, span, and, if they are there, whether it is recorded, and the span's parent. */
    static Parent ofB3(String text) {
        String[] parts = parts(text, '-', 4);
        if (parts == null || parts.length < 2 || parts.length > 3 && !isHex(parts[3], 16)) {
            return null;
        }
        String sampled = parts.length == 2 ? null : parts[2];
        return "d".equals(sampled) ? ofB3(parts[0], parts[1], null, "1") : ofB3(parts[0], parts[1], sampled, null);
    }

    /** Reads the headers of B3 apart. Where none says whether the trace is recorded, that is left to this process. */
    static Parent ofB3(String trace, String id, String sampled, String flags) {
        if (!isHex(trace, 32) && !isHex(trace, 16) || !isHex(id, 16)) {
            return null;
        }
        boolean isDebug = "1".equals(flags);
        boolean isOn = sampled == null || sampled.equals("1") || sampled.equals("true");
        if (!isDebug && !isOn && !sampled.equals("0") && !sampled.equals("false")) {
            return null;
        }
        return of(trace, id, isDebug || isOn ? Span.SAMPLED : 0, null);
    }

    /** Reads a {@code uber-trace-id}: trace, span, what is not used any more, and flags. Zeros in front may be missing. */
    static Parent ofJaeger(String text) {
        String[] parts = parts(text == null || text.length() > LONGEST ? null : text.replace("%3A", ":").replace("%3a", ":"), ':', 4);
        if (parts == null || parts.length != 4 || !isHexUpTo(parts[0], 32) || !isHexUpTo(parts[1], 16) || !isHexUpTo(parts[2], 16)
            || !isHexUpTo(parts[3], 2)) {
            return null;
        }
        boolean isSampled = (hex(parts[3], 0, parts[3].length()) & 3) != 0; // 2: it is to be recorded whoever decides
        return of(parts[0], parts[1], isSampled ? Span.SAMPLED : 0, null);
    }

    /** Reads an {@code X-Amzn-Trace-Id}: {@code Root=1-8 digits-24 digits;Parent=16 digits;Sampled=1}, and what others have put in between. */
    static Parent ofXray(String text) {
        String[] parts = parts(text, ';', 32);
        String root = null;
        String id = null;
        String sampled = "?";
        for (int i = 0; parts != null && i < parts.length; i++) {
            String part = parts[i].trim();
            root = part.startsWith("Root=") ? part.substring(5) : root;
            id = part.startsWith("Parent=") ? part.substring(7) : id;
            sampled = part.startsWith("Sampled=") ? part.substring(8) : sampled;
        }
        String[] trace = parts(root, '-', 3);
        if (trace == null || trace.length != 3 || !trace[0].equals("1") || !isHex(trace[1], 8) || !isHex(trace[2], 24) || !isHex(id, 16)
            || !sampled.equals("0") && !sampled.equals("1") && !sampled.equals("?")) {
            return null;
        }
        return of(trace[1] + trace[2], id, sampled.equals("0") ? 0 : Span.SAMPLED, null);
    }

    /** What stands between separators; null where that is too much. */
    private static String[] parts(String text, char separator, int most) {
        if (text == null || text.length() > LONGEST) {
            return null;
        }
        String[] all = text.trim().split(String.valueOf(separator), most + 1);
        return all.length > most ? null : all;
    }

    /** A header that may be sent on as it came, or null: no control characters, and not too long. */
    private static String passable(String text, int longest) {
        if (text == null || text.isEmpty() || text.length() > longest) {
            return null;
        }
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c != '\t' && (c < ' ' || c > '~')) {
                return null;
            }
        }
        return text;
    }

    private static boolean isHex(String text, int digits) {
        return text != null && text.length() == digits && isHex(text, 0, digits);
    }

    private static boolean isHexUpTo(String text, int most) {
        return !text.isEmpty() && text.length() <= most && isHex(text, 0, text.length());
    }

    private static boolean isHex(String text, int from, int to) {
        for (int i = from; i < to; i++) {
            char c = text.charAt(i);
            if ((c < '0' || c > '9') && (c < 'a' || c > 'f')) {
                return false;
            }
        }
        return true;
    }

    private static long hex(String text, int from, int to) {
        long number = 0;
        for (int i = from; i < to; i++) {
            char c = text.charAt(i);
            number = number << 4 | (c <= '9' ? c - '0' : c - 'a' + 10);
        }
        return number;
    }
}
