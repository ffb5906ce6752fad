package weave.runtime;

/** The context that came in with a request: W3C Trace Context and Baggage. What is wrong with it makes it none at all. */
final class Parent {
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

    /** Reads a {@code traceparent} (3.2.2); null where it is none. Versions behind the first may have more to say. */
    static Parent of(String text, String state, String baggage) {
        if (text == null) {
            return null;
        }
        int length = text.length();
        boolean isFirst = text.startsWith("00-");
        if (length < 55 || isFirst && length != 55 || length > 55 && text.charAt(55) != '-' || text.startsWith("ff")
            || length > LONGEST_STATE || text.charAt(2) != '-' || text.charAt(35) != '-' || text.charAt(52) != '-'
            || !isHex(text, 0, 2) || !isHex(text, 3, 35) || !isHex(text, 36, 52) || !isHex(text, 53, 55)) {
            return null;
        }
        long high = hex(text, 3, 19);
        long low = hex(text, 19, 35);
        long id = hex(text, 36, 52);
        if ((high | low) == 0 || id == 0) {
            return null;
        }
        int flags = (int) hex(text, 53, 55) & (Span.SAMPLED | Span.RANDOM);
        return new Parent(high, low, id, flags, passable(state, LONGEST_STATE), passable(baggage, LONGEST_BAGGAGE));
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
