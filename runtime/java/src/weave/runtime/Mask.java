package weave.runtime;

/** Replaces what a text must not tell. Which that is say tables that were compiled when the program was woven, or by {@link Masks}. */
final class Mask {
    /** How far a match is followed: one that goes on there takes the rest of the text. So a text of any length takes bounded time. */
    static final int WINDOW = 4_096;
    /** The table begins with how many classes of units there are and the class of each of ASCII and of all others. */
    private static final int HEAD = 130;
    private static final String INSTEAD = "***";

    private Mask() {}

    /**
     * The text with each longest match of any table replaced, up to {@code limit} units and a few more; the text itself if there is none.
     * {@code own} is one more table, or null.
     */
    static String apply(String own, String[] tables, String text, int limit) {
        StringBuilder masked = null;
        int length = text.length();
        int kept = 0;
        for (int at = 0; at < length && (masked == null ? at : masked.length() + at - kept) <= limit;) {
            int end = own == null ? at : end(own, text, at, length);
            for (String table : tables) {
                end = Math.max(end, end(table, text, at, length));
            }
            if (end == at) {
                at++;
                continue;
            }
            if (masked == null) {
                masked = new StringBuilder();
            }
            masked.append(text, kept, at).append(INSTEAD);
            at = end;
            kept = end;
        }
        if (masked == null) {
            return text;
        }
        return masked.append(text, kept, kept + Math.min(length - kept, Math.max(0, limit + 1 - masked.length()))).toString();
    }

    /** Where the longest match from a place on ends, or that place. */
    private static int end(String table, String text, int from, int length) {
        int classes = table.charAt(0);
        int row = HEAD;
        int end = from;
        for (int at = from; at < length; at++) {
            if (at - from == WINDOW) {
                return length;
            }
            int next = table.charAt(row + 1 + table.charAt(1 + Math.min(text.charAt(at), 128)));
            if (next == 0) {
                break;
            }
            row = HEAD + (next - 1) * (classes + 1);
            if (table.charAt(row) == 1) {
                end = at + 1;
            }
        }
        return end;
    }
}
