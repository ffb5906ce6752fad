package weave.runtime;

import java.nio.charset.StandardCharsets;

/**
 * The hooks of methods whose calls are spans, in place of {@link Hooks}: {@link #decide} in front of the call's values, {@link #begin} behind
 * them. A span is the context of all that runs below it, until it ends.
 */
public final class Spans {
    /** OpenTelemetry's number of what begins for another process. */
    static final int SERVER = 2;
    /** The state of a call that is the context of what runs below it, and is not recorded. */
    static final int QUIET = 5;
    /** The call has returned, and its span goes on with the object that keeps it. */
    static final int STAYS = 13;
    /** A call that goes on in a span which an object keeps. */
    static final int GOES_ON = 21;
    /** Such a call at its end, which is the span's as well: its values are recorded ({@link Switched#isRecorded}). */
    private static final int ENDS = 6;
    /** No header that is heeded is longer: W3C's limit of a baggage. */
    private static final int LONGEST_HEADER = 8192;
    /** A header's name where none is meant. */
    private static final String ANY = "traceparent";

    private Spans() {}

    /**
     * Whether a call of the method {@code id} is recorded. {@code as} is what the rules say of switching, as for {@link Switched}; {@code once} is a
     * word, or null: inside a call of this word no other is recorded. {@code came} are the headers that came in with the call ({@link #came}), or
     * null: where they say that their trace is not recorded, nothing below is.
     */
    public static int decide(int as, String once, Object came, int id) {
        int state = Switched.decide(as, id);
        return state == Switched.RECORDED ? Hooks.decide(once, came, id) : state;
    }

    /** The same of a call whose span the object {@code keep} may keep: it goes on in that, where there is one. */
    public static int decide(int as, String once, Object came, Object keep, int id) {
        return Hooks.resume(Kept.open(keep)) ? GOES_ON : decide(as, once, came, id);
    }

    /**
     * In front of a call's values at its end: what becomes of its span, which the object {@code keep} keeps from here on as long as it
     * {@code goesOn}.
     */
    public static int leave(int state, Object keep, boolean goesOn, int id) {
        if (state == Switched.RECORDED && goesOn && keep != null) {
            return Hooks.keep(keep, id) ? STAYS : state;
        }
        return state == GOES_ON && !goesOn ? ENDS : state;
    }

    /** The same of a call that gives a stage: its span ends with that. */
    public static int leave(int state, Object stage, int id) {
        return state == Switched.RECORDED && stage != null && Hooks.follow(stage, id) ? STAYS : state;
    }

    /** A span of the method {@code id} begins, as was decided. {@code kind} is OpenTelemetry's number of it. */
    public static void begin(int state, int kind, String once, int id) {
        if (state == Switched.RECORDED) {
            Hooks.begin(kind, once, id);
        } else if (state != QUIET && state != GOES_ON) {
            Switched.begin(state, id);
        }
    }

    /** The method {@code id} returns. */
    public static void exit(int state, int id) {
        if (state == Switched.RECORDED || state == QUIET) {
            Hooks.end(null, state == QUIET, false, id);
        } else if (state == STAYS) {
            Hooks.stay(id);
        } else if (state == GOES_ON || state == ENDS) {
            Hooks.suspend(null, state == ENDS, false);
        } else {
            Switched.exit(state, id);
        }
    }

    /** The exception {@code t} leaves the method {@code id}. */
    public static void error(Throwable t, int state, int id) {
        if (state == Switched.RECORDED || state == QUIET) {
            Hooks.end(t, state == QUIET, true, id);
        } else if (state == GOES_ON || state == ENDS) {
            Hooks.suspend(t, true, true);
        } else {
            Switched.error(t, state, id);
        }
    }

    /** The name of a header of a request that came in, of {@link Propagators#MOST}; null where no more are asked for. */
    public static String asks(int which) {
        return Hooks.on() ? Hooks.asked(which) : null;
    }

    /** The same for what is asked in any case. */
    public static String asksAgain(int which) {
        String name = asks(which);
        return name == null ? ANY : name;
    }

    /** What such a header says, or null, beside those {@code before}. */
    public static Object came(Object before, int which, String value) {
        return value == null || !Hooks.on() ? before : Hooks.came(before, which, value);
    }

    /** The same of a header in UTF-8. */
    public static Object came(Object before, int which, byte[] value) {
        boolean isText = value != null && value.length <= LONGEST_HEADER;
        return isText ? came(before, which, new String(value, StandardCharsets.UTF_8)) : before;
    }

    /** What came in with what the method {@code id} returns is a link of its span, in front of its end. */
    public static void links(Object came, int state, int id) {
        if (came != null && state == Switched.RECORDED) {
            Hooks.link(came, id);
        }
    }

    /** The name of a header that goes out with a request to another service. */
    public static String sends(int which) {
        String name = Hooks.on() ? Hooks.sent(which) : null;
        return name == null ? ANY : name;
    }

    /** What it says; null where there is nothing to send. */
    public static String header(int which) {
        Span span = Hooks.context();
        return span == null ? null : Hooks.value(which, span);
    }

    /** The name of such a header; null where there is nothing to send. */
    public static String sends(int which, Object value) {
        return value == null ? null : sends(which);
    }

    /** What it says, in UTF-8; null where there is nothing to send. */
    public static byte[] bytes(int which) {
        String text = header(which);
        return text == null ? null : text.getBytes(StandardCharsets.UTF_8);
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
