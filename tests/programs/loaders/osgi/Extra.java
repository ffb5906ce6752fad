package acme.hello.extra;

/** Lies in a fragment: the loader of its host loads it. */
public class Extra {
    public static String name(int n) {
        return n > 1 ? "extra-" + n : "extra";
    }
}
