package app;

/** Bodies in an interface. */
public interface Greeter {
    default String greet(String s) {
        return polite("dear " + s);
    }

    static String polite(String s) {
        return s + " please";
    }
}
