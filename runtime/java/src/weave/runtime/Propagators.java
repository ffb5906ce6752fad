package weave.runtime;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * By which headers contexts come in and go out, as {@code OTEL_PROPAGATORS} says. All that are named are read, in this order, and the last that
 * brings a context holds; all are sent.
 */
final class Propagators {
    /** So many headers are asked for, or sent, at most: woven code has as many places. */
    static final int MOST = 10;

    private static final String[] HEADERS = {"traceparent", "tracestate", "baggage", "b3", "X-B3-TraceId", "X-B3-SpanId", "X-B3-Sampled", "X-B3-Flags",
        "uber-trace-id", "X-Amzn-Trace-Id"};
    private static final int TRACEPARENT = 0;
    private static final int TRACESTATE = 1;
    private static final int BAGGAGE = 2;
    private static final int B3 = 3;
    private static final int B3_TRACE = 4;
    private static final int B3_SPAN = 5;
    private static final int B3_SAMPLED = 6;
    private static final int B3_FLAGS = 7;
    private static final int JAEGER = 8;
    private static final int XRAY = 9;

    private static final String[] NAMES = {"tracecontext", "baggage", "b3", "b3multi", "jaeger", "xray"};
    /** The headers that each asks for, and those that it sends. Whoever sends one form of B3 reads both. */
    private static final int[][] READ = {{TRACEPARENT, TRACESTATE}, {BAGGAGE}, {B3, B3_TRACE, B3_SPAN, B3_SAMPLED, B3_FLAGS},
        {B3, B3_TRACE, B3_SPAN, B3_SAMPLED, B3_FLAGS}, {JAEGER}, {XRAY}};
    private static final int[][] WRITTEN = {{TRACEPARENT, TRACESTATE}, {BAGGAGE}, {B3}, {B3_TRACE, B3_SPAN, B3_SAMPLED}, {JAEGER}, {XRAY}};
    private static final String DEFAULT = "tracecontext,baggage";

    static final Propagators SET = new Propagators(Settings.propagators());

    /** What makes no sense in the setting, as a sentence, or null. */
    final String complaint;
    private final int[] order;
    private final int[] asked;
    private final int[] sent;

    Propagators(String setting) {
        List<Integer> named = new ArrayList<Integer>();
        List<Integer> read = new ArrayList<Integer>();
        List<Integer> written = new ArrayList<Integer>();
        String wrong = null;
        for (String one : (setting == null ? DEFAULT : setting).split(",")) {
            String name = one.trim().toLowerCase(Locale.ROOT);
            int which = -1;
            for (int i = 0; i < NAMES.length; i++) {
                which = name.equals(NAMES[i]) ? i : which;
            }
            if (which < 0) {
                wrong = wrong != null || name.isEmpty() || name.equals("none") ? wrong : one.trim();
                continue;
            }
            if (!named.contains(which)) {
                named.add(which);
                more(read, READ[which]);
                more(written, WRITTEN[which]);
            }
        }
        order = numbers(named);
        asked = numbers(read);
        sent = numbers(written);
        complaint = wrong == null ? null
            : "OTEL_PROPAGATORS: \"" + wrong + "\" is not tracecontext, baggage, b3, b3multi, jaeger, xray or none; it is left out";
    }

    private static void more(List<Integer> all, int[] some) {
        for (int one : some) {
            if (!all.contains(one)) {
                all.add(one);
            }
        }
    }

    private static int[] numbers(List<Integer> all) {
        int[] numbers = new int[all.size()];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = all.get(i);
        }
        return numbers;
    }

    /** The header that is asked for as this one, or null. */
    String asked(int which) {
        return which < asked.length ? HEADERS[asked[which]] : null;
    }

    /** The header that is sent as this one, or null. */
    String sent(int which) {
        return which < sent.length ? HEADERS[sent[which]] : null;
    }

    /** The headers that have come in, with this one more; {@code before} is null, or what this has given. */
    String[] came(Object before, int which, String value) {
        String[] all = before instanceof String[] ? (String[]) before : null;
        if (value != null && which < asked.length) {
            all = all == null ? new String[HEADERS.length] : all;
            all[asked[which]] = value;
        }
        return all;
    }

    /** The context that these headers bring, or null. */
    Parent parent(Object came) {
        String[] all = came instanceof String[] ? (String[]) came : null;
        Parent found = null;
        boolean carries = false;
        for (int i = 0; all != null && i < order.length; i++) {
            Parent next = null;
            switch (NAMES[order[i]]) {
                case "tracecontext":
                    next = Parent.of(all[TRACEPARENT], all[TRACESTATE]);
                    break;
                case "baggage":
                    carries = true;
                    break;
                case "jaeger":
                    next = Parent.ofJaeger(all[JAEGER]);
                    break;
                case "xray":
                    next = Parent.ofXray(all[XRAY]);
                    break;
                default:
                    next = Parent.ofB3(all[B3]);
                    next = next != null ? next : Parent.ofB3(all[B3_TRACE], all[B3_SPAN], all[B3_SAMPLED], all[B3_FLAGS]);
            }
            found = next != null ? next : found;
        }
        return found == null || !carries ? found : found.with(all[BAGGAGE]);
    }

    /** What the header says that is sent as this one; null where that is nothing. */
    String value(int which, Span span) {
        if (which >= sent.length) {
            return null;
        }
        String parent = span.traceparent();
        String trace = parent.substring(3, 35);
        String id = parent.substring(36, 52);
        String sampled = span.isRecorded() ? "1" : "0";
        switch (sent[which]) {
            case TRACEPARENT:
                return parent;
            case TRACESTATE:
                return span.state;
            case BAGGAGE:
                return span.baggage;
            case B3:
                return trace + "-" + id + "-" + sampled;
            case B3_TRACE:
                return trace;
            case B3_SPAN:
                return id;
            case B3_SAMPLED:
                return sampled;
            case JAEGER:
                return trace + ":" + id + ":0:" + sampled;
            default:
                return "Root=1-" + trace.substring(0, 8) + "-" + trace.substring(8) + ";Parent=" + id + ";Sampled=" + sampled;
        }
    }
}
