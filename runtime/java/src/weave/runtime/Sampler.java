package weave.runtime;

import java.util.Locale;

/**
 * Which traces are recorded, as {@code OTEL_TRACES_SAMPLER} and {@code OTEL_TRACES_SAMPLER_ARG} say. The trace's id decides about those that begin
 * here, so that all services that draw so come to the same; about those that came in their sender, unless the setting says otherwise.
 */
final class Sampler {
    private static final long RANGE = 1L << 56;
    private static final String PARENT = "parentbased_";
    static final Sampler SET = new Sampler(Settings.sampler(), Settings.samplerArgument());

    /** What makes no sense in the setting, as a sentence, or null. */
    final String complaint;
    private final boolean byParent;
    /** Traces are recorded whose last 56 bits are no less. */
    private final long threshold;
    /** What is sent on, so that others know the share (OpenTelemetry's probability sampling); or null. */
    private final String state;

    Sampler(String setting, String argument) {
        String said = setting == null ? PARENT + "always_on" : setting.toLowerCase(Locale.ROOT);
        String own = said.startsWith(PARENT) ? said.substring(PARENT.length()) : said;
        boolean isRatio = own.equals("traceidratio");
        boolean isKnown = isRatio || own.equals("always_on") || own.equals("always_off");
        double ratio = !isRatio || argument == null ? 1 : ratio(argument);
        complaint = !isKnown ? "OTEL_TRACES_SAMPLER: \"" + setting + "\" is not always_on, always_off or traceidratio, nor parentbased_ and one of "
                + "these; parentbased_always_on is used"
            : ratio < 0 ? "OTEL_TRACES_SAMPLER_ARG: \"" + argument + "\" is not a number from 0 to 1; 1 is used" : null;
        byParent = !isKnown || said.startsWith(PARENT);
        threshold = own.equals("always_off") ? RANGE : ratio < 0 ? 0 : RANGE - (long) (ratio * RANGE);
        state = threshold == 0 || threshold == RANGE ? null : "ot=th:" + digits(threshold);
    }

    /** A number from 0 to 1 as it is usually written, else -1. */
    private static double ratio(String text) {
        double number = 0;
        double unit = 0;
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '.' ? unit != 0 : c < '0' || c > '9') {
                return -1;
            }
            number = c == '.' ? number : unit == 0 ? number * 10 + (c - '0') : number + (c - '0') * unit;
            unit = c == '.' ? 0.1 : unit / 10;
        }
        return number > 1 ? -1 : number;
    }

    /** 56 bits in hexadecimal digits, without the zeros at their end. */
    private static String digits(long number) {
        StringBuilder out = new StringBuilder();
        for (long rest = number; rest != 0; rest = rest << 4 & RANGE - 1) {
            out.append("0123456789abcdef".charAt((int) (rest >>> 52)));
        }
        return out.toString();
    }

    private boolean takes(long traceLow) {
        return (traceLow & RANGE - 1) >= threshold;
    }

    /** Whether a trace that begins is to be asked about. */
    boolean draws() {
        return threshold != 0;
    }

    /** What a trace that begins with these ids is below. */
    Parent root(long high, long low) {
        boolean taken = takes(low);
        return Parent.root(high, low, taken, taken ? state : null);
    }

    /** What came in, with what is decided about it. */
    Parent decided(Parent from) {
        return byParent || from == null ? from : from.with(takes(from.traceLow));
    }
}
