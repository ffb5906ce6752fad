package weave.runtime;

/**
 * The hooks of methods whose calls are spans, in place of {@link Hooks}: {@link #decide} in front of the call's values, {@link #begin} behind
 * them. A span is the context of all that runs below it, until it ends.
 */
public final class Spans {
    /** OpenTelemetry's number of what begins for another process. */
    static final int SERVER = 2;
    /** The state of a call that is the context of what runs below it, and is not recorded. */
    static final int QUIET = 5;
    /** Which header {@link #header} gives. */
    private static final int TRACESTATE = 1;
    private static final int BAGGAGE = 2;

    private Spans() {}

    /**
     * Whether a call of the method {@code id} is recorded. {@code as} is what the rules say of switching, as for {@link Switched}; {@code once} is a
     * word, or null: inside a call of this word no other is recorded. The last texts are the headers that came in with the call, or null: where they
     * say that their trace is not recorded, nothing below is.
     */
    public static int decide(int as, String once, String traceparent, String tracestate, String baggage, int id) {
        int state = Switched.decide(as, id);
        return state == Switched.RECORDED ? Hooks.decide(once, Parent.of(traceparent, tracestate, baggage), id) : state;
    }

    /** A span of the method {@code id} begins, as was decided. {@code kind} is OpenTelemetry's number of it. */
    public static void begin(int state, int kind, String once, int id) {
        if (state == Switched.RECORDED) {
            Hooks.begin(kind, once, id);
        } else if (state != QUIET) {
            Switched.begin(state, id);
        }
    }

    /** The method {@code id} returns. */
    public static void exit(int state, int id) {
        if (state == Switched.RECORDED || state == QUIET) {
            Hooks.end(null, state == QUIET, false, id);
        } else {
            Switched.exit(state, id);
        }
    }

    /** The exception {@code t} leaves the method {@code id}. */
    public static void error(Throwable t, int state, int id) {
        if (state == Switched.RECORDED || state == QUIET) {
            Hooks.end(t, state == QUIET, true, id);
        } else {
            Switched.error(t, state, id);
        }
    }

    /**
     * What goes out with a request to another service: {@code which} is 0 for {@code traceparent}, 1 for {@code tracestate}, 2 for {@code baggage}.
     * Null where there is nothing to send.
     */
    public static String header(int which) {
        Span span = Hooks.context();
        if (span == null) {
            return null;
        }
        return which == TRACESTATE ? span.state : which == BAGGAGE ? span.baggage : span.traceparent();
    }

    /** The id of the current trace in hexadecimal digits, or null. */
    public static String traceId() {
        Span span = Hooks.context();
        return span == null ? null : span.traceparent().substring(3, 35);
    }

    /** The id of the current span in hexadecimal digits, or null. */
    public static String spanId() {
        Span span = Hooks.context();
        return span == null ? null : span.traceparent().substring(36, 52);
    }
}
