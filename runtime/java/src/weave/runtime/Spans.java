package weave.runtime;

/**
 * The hooks of methods whose calls are spans, in place of {@link Hooks}: {@link #decide} in front of the call's values, {@link #begin} behind
 * them. A span is the context of all that runs below it, until it ends.
 */
public final class Spans {
    /** OpenTelemetry's number of what begins for another process. */
    static final int SERVER = 2;
    /** Which header {@link #header} gives. */
    private static final int TRACESTATE = 1;
    private static final int BAGGAGE = 2;

    private Spans() {}

    /**
     * Whether a call of the method {@code id} is recorded. {@code as} is what the rules say of switching, as for {@link Switched}; {@code once} is a
     * word, or null: inside a call of this word no other is recorded.
     */
    public static int decide(int as, String once, int id) {
        int state = Switched.decide(as, id);
        return state == Switched.RECORDED && once != null && Hooks.isWithin(once) ? Switched.NOTHING : state;
    }

    /**
     * A span of the method {@code id} begins, as was decided. {@code kind} is OpenTelemetry's number of it. The last three are the headers that came
     * in with it, or null.
     */
    public static void begin(int state, int kind, String once, String traceparent, String tracestate, String baggage, int id) {
        if (state == Switched.RECORDED) {
            Hooks.begin(kind, once, traceparent, tracestate, baggage, id);
        } else {
            Switched.begin(state, id);
        }
    }

    /** The method {@code id} returns. */
    public static void exit(int state, int id) {
        if (state == Switched.RECORDED) {
            Hooks.end(null, false, id);
        } else {
            Switched.exit(state, id);
        }
    }

    /** The exception {@code t} leaves the method {@code id}. */
    public static void error(Throwable t, int state, int id) {
        if (state == Switched.RECORDED) {
            Hooks.end(t, true, id);
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
