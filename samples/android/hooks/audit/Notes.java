package audit;

/** What is looked for in a notebook: hooks that know nothing of the app's classes. On a device, {@code Log} would take the lines. */
public final class Notes {
    private Notes() {}

    /** What it returns is the state of the call, which the other hooks get. */
    public static String looking(int number) {
        return "note " + number;
    }

    public static void found(String call, Object note) {
        System.err.println("audit: " + call + ": " + note);
    }

    public static void lost(String call, Throwable exception, String type, String method) {
        System.err.println("audit: " + call + ": " + type + "." + method + ": " + exception.getMessage());
    }

    public static void averaged(long rounds, double weight, double result) {
        System.err.println("audit: " + rounds + " rounds from " + weight + ": " + result);
    }
}
