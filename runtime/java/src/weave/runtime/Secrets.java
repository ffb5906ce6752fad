package weave.runtime;

/**
 * What of texts is not written. Rules say it by what woven code calls where a method begins ({@link Values#hold}), in front of anything
 * that the library writes of the call; the user says it by settings. What is known holds for all of the process, whichever method an
 * exception leaves.
 */
final class Secrets {
    /** What {@link Values#hold} takes: messages of exceptions that leave this method are left out. */
    static final int SILENT = 1;
    /** The mask holds for values of all calls, too. */
    static final int EVERYWHERE = 2;
    /** Messages, thread names, the command line are left out. */
    static final int MESSAGES = 4;
    static final int THREADS = 8;
    static final int COMMAND = 16;
    static final int LEFT_OUT = MESSAGES | THREADS | COMMAND;
    /** Beyond so many masks texts are left out. */
    static final int MOST = 64;
    private static final int COMMAND_LIMIT = 4_000;

    /** Hold for messages, thread names and the command line. All arrays here are replaced as a whole. */
    static volatile String[] masks = {};
    /** Those of them that hold for all values as well. */
    static volatile String[] everywhere = {};
    static volatile int without = (Settings.isWritten("weave.trace.messages") ? 0 : MESSAGES)
        | (Settings.isWritten("weave.trace.threads") ? 0 : THREADS) | (Settings.isWritten("weave.trace.command") ? 0 : COMMAND);
    /** Ids of methods whose exceptions have no message, each at its place or behind it; 0 is none. */
    static volatile int[] silent = new int[16];
    private static int silenced;
    /** Something that is to be left out could not be noted, for want of stack or memory: so are all messages and names. */
    static volatile boolean unsure;
    /** Moves when something of this changes. */
    static volatile int changes;
    /** What is wrong with the user's masks, as a sentence, or null. */
    static final String COMPLAINT = useSettings();

    private Secrets() {}

    /** Initialises the class, while the stack has room. */
    static boolean prime() {
        return COMPLAINT == null;
    }

    private static String useSettings() {
        String said = Settings.masks();
        if (said == null) {
            return null;
        }
        try {
            learn(Masks.of(said), true);
            return null;
        } catch (IllegalArgumentException wrong) {
            learn(Masks.ALL, true);
            return "weave.trace.mask: " + wrong.getMessage() + "; all texts are masked";
        }
    }

    /** What {@link Values#hold} says, which is new. */
    static void hold(String mask, int how, int id) {
        if (mask != null) {
            learn(mask, (how & EVERYWHERE) != 0);
        }
        if ((how & LEFT_OUT) != 0) {
            leaveOut(how & LEFT_OUT);
        }
        if ((how & SILENT) != 0) {
            silence(id);
        }
    }

    /** A mask holds from now on. */
    static void learn(String mask) {
        learn(mask, false);
    }

    private static synchronized void learn(String mask, boolean all) {
        if (all) {
            everywhere = everywhere.length < MOST ? with(everywhere, mask) : new String[] {Masks.ALL};
        }
        masks = with(masks, mask);
        changes++;
    }

    private static String[] with(String[] all, String mask) {
        if (all.length > MOST) {
            return all;
        }
        for (String known : all) {
            if (known.equals(mask)) {
                return all;
            }
        }
        String[] more = new String[all.length + 1];
        System.arraycopy(all, 0, more, 0, all.length);
        more[all.length] = mask;
        return more;
    }

    private static synchronized void leaveOut(int what) {
        without |= what;
        changes++;
    }

    private static synchronized void silence(int id) {
        int[] all = silent;
        if (2 * silenced >= all.length) {
            int[] more = new int[2 * all.length];
            for (int one : all) {
                if (one != 0) {
                    more[place(more, one)] = one;
                }
            }
            all = more;
            silent = more;
        }
        int at = place(all, id);
        silenced += all[at] == 0 ? 1 : 0;
        all[at] = id;
    }

    /** Where an id is, or would be. Those of a type follow one another. */
    private static int place(int[] all, int id) {
        int at = id & all.length - 1;
        while (all[at] != 0 && all[at] != id) {
            at = at + 1 & all.length - 1;
        }
        return at;
    }

    /** Whether the message of an exception that leaves this method may be asked for. */
    static boolean tells(int id) {
        int[] all = silent;
        return (without & MESSAGES) == 0 && all[place(all, id)] != id;
    }

    static boolean names() {
        return (without & THREADS) == 0;
    }

    /** What of the command line is written, or null. */
    static String command() {
        return (without & COMMAND) == 0 ? masked(Host.command(), COMMAND_LIMIT) : null;
    }

    /** What of a text is written, of which no more than so many bytes are kept; null for nothing. */
    static String masked(String text, int limit) {
        String[] all = masks;
        if (text == null || all.length > MOST || unsure) {
            return null;
        }
        if (text.length() > limit + Mask.WINDOW) {
            text = text.substring(0, limit + Mask.WINDOW);
        }
        return Mask.apply(null, all, text, Integer.MAX_VALUE - 1);
    }
}
