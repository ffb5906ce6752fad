package weave.runtime;

/**
 * What of messages, thread names and the command line is not written. The user's switches leave them out; the masks of all
 * aspects whose values were recorded so far hold for all messages and names, whichever method an exception leaves.
 */
final class Secrets {
    static final boolean MESSAGES = Settings.isWritten("weave.trace.messages");
    static final boolean THREADS = Settings.isWritten("weave.trace.threads");
    static final boolean COMMAND = Settings.isWritten("weave.trace.command");
    /** Beyond so many masks messages and names are left out. */
    private static final int MOST = 64;

    private static volatile String[] masks = {};

    private Secrets() {}

    /** A mask holds from now on. */
    static void learn(String mask) {
        for (String known : masks) {
            if (known == mask) {
                return;
            }
        }
        add(mask);
    }

    private static synchronized void add(String mask) {
        String[] all = masks;
        if (all.length > MOST) {
            return;
        }
        for (String known : all) {
            if (known.equals(mask)) {
                return;
            }
        }
        String[] more = new String[all.length + 1];
        System.arraycopy(all, 0, more, 0, all.length);
        more[all.length] = mask;
        masks = more;
    }

    /** What of a text is written, of which no more than so many bytes are kept; null for nothing. */
    static String masked(String text, int limit) {
        String[] all = masks;
        if (text == null || all.length > MOST) {
            return null;
        }
        if (text.length() > limit + Mask.WINDOW) {
            text = text.substring(0, limit + Mask.WINDOW);
        }
        for (String mask : all) {
            text = Mask.apply(mask, text, Integer.MAX_VALUE - 1);
        }
        return text;
    }
}
