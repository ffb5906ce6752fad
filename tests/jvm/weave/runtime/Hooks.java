package weave.runtime;

/** Stands in for the hook library: checks that every enter has exactly one exit or error, innermost first. */
public final class Hooks {
    private static final int[] open = new int[10_000];
    private static int depth;
    public static int calls;
    public static String problem = "";

    public static void enter(int id) {
        calls++;
        open[depth++] = id;
    }

    public static void exit(int id) {
        leave("exit", id);
    }

    public static void error(Throwable t, int id) {
        if (t == null) {
            problem = "error without a throwable";
        }
        leave("error", id);
    }

    private static void leave(String how, int id) {
        if (depth == 0 || open[--depth] != id) {
            problem = how + " of " + id + " does not close the innermost call";
        }
    }

    /** What is wrong after everything returned; empty if nothing is. */
    public static String verdict() {
        return depth != 0 ? depth + " calls are open" : problem;
    }
}
