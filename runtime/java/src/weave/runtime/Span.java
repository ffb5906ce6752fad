package weave.runtime;

/** A span, and so the context of what runs below it. Its ids stay; when it ends it lets go of the spans around it. */
final class Span {
    /** Flags of a {@code traceparent}: the trace is recorded, and its id is random. */
    static final int SAMPLED = 1;
    static final int RANDOM = 2;
    /** Beside these, in the trace: the parent is of another process. */
    static final int REMOTE = 1 << 8;

    /** The CONTEXT escape of no context. */
    static final long[] NONE = {Format.escape(Format.CONTEXT, 4, 0), 0, 0, 0, 0};

    final long traceHigh;
    final long traceLow;
    final long id;
    /** 0: it begins a trace. */
    private final long parentId;
    private final int flags;
    /** Within this process, as long as this span is open; null where it begins what this process does. */
    private Span parent;
    /** What came in beside the parent, unread. */
    final String state;
    final String baggage;
    /** What no other span below it may be, or null. */
    final String once;
    final int method;
    /** The number of the thread whose call it is. */
    final int thread;
    /** How many segments the thread had when it began. */
    int segment;
    /** The context in which it began, as long as it is open. */
    private Span before;
    volatile boolean over;
    /** What it ends with, between the two hooks of its call's end, and values that are known then. */
    Object stage;
    Late late;

    /** Below {@code parent}, which may be null. */
    Span(Span parent, Span before, long high, long low, long id, String once, int method, int thread) {
        this.parent = parent;
        this.before = before;
        this.id = id;
        this.once = once;
        this.method = method;
        this.thread = thread;
        traceHigh = parent == null ? high : parent.traceHigh;
        traceLow = parent == null ? low : parent.traceLow;
        parentId = parent == null ? 0 : parent.id;
        flags = parent == null ? SAMPLED | RANDOM : parent.flags & 0xFF;
        state = parent == null ? null : parent.state;
        baggage = parent == null ? null : parent.baggage;
    }

    /** Below what came in, or what was drawn of a trace that begins. */
    Span(Parent from, Span before, long id, String once, int method, int thread) {
        parent = null;
        this.before = before;
        this.id = id;
        this.once = once;
        this.method = method;
        this.thread = thread;
        traceHigh = from.traceHigh;
        traceLow = from.traceLow;
        parentId = from.id;
        flags = from.flags;
        state = from.state;
        baggage = from.baggage;
    }

    Span before() {
        return before;
    }

    /** It is over: who still holds it does not hold what was around it. */
    void end() {
        over = true;
        parent = null;
        before = null;
    }

    /** Its thread has left it, and it goes on. */
    void rest() {
        before = null;
    }

    /** What another span's link to it says. */
    String link() {
        return link(traceparent(), state);
    }

    static String link(String traceparent, String state) {
        return state == null ? traceparent : traceparent + ';' + state;
    }

    /** Whether it is recorded, and what runs below it. */
    boolean isRecorded() {
        return (flags & SAMPLED) != 0;
    }

    /** Whether it, or a span around it that is open, is of this word. */
    boolean isWithin(String word) {
        for (Span span = this; span != null; span = span.parent) {
            if (!span.over && word.equals(span.once)) {
                return true;
            }
        }
        return false;
    }

    /** A value of this number is no rule's: it is the span's {@code tracestate}. */
    static final int STATE = 0xFFFF << 16;
    static final int LONGEST_STATE = 512;
    /** The same: it is a link, as a {@code traceparent}, with {@code ;} and a {@code tracestate} behind it where there is one. */
    static final int LINK = 0xFFFE << 16;
    static final int LONGEST_LINK = 55 + 1 + LONGEST_STATE;
    /** The flag of a value that is recorded at the end of its call. */
    static final int AT_END = 1 << 10;

    /** The SPAN escape of the call that it is. */
    long[] begun() {
        return new long[] {Format.escape(Format.SPAN, 5, method), traceHigh, traceLow, id, parentId, flags};
    }

    /** The CONTEXT escape of what runs below it. */
    long[] context() {
        return isRecorded() ? new long[] {Format.escape(Format.CONTEXT, 4, 0), traceHigh, traceLow, id, flags} : NONE.clone();
    }

    /** As others read it (W3C Trace Context, 3.2). */
    String traceparent() {
        return traceparent(traceHigh, traceLow, id, flags);
    }

    static String traceparent(long traceHigh, long traceLow, long id, int flags) {
        char[] text = new char[55];
        text[0] = text[1] = '0';
        text[2] = text[35] = text[52] = '-';
        hex(traceHigh, 16, text, 3);
        hex(traceLow, 16, text, 19);
        hex(id, 16, text, 36);
        hex(flags & 0xFF, 2, text, 53);
        return new String(text);
    }

    private static void hex(long number, int digits, char[] text, int at) {
        for (int i = digits - 1; i >= 0; i--, number >>>= 4) {
            text[at + i] = "0123456789abcdef".charAt((int) number & 15);
        }
    }
}
