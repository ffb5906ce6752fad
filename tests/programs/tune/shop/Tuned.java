package shop;

/** The same name in a package. */
public class Tuned {
    public static int mix(int x) {
        return (x ^ x >>> 5) * 37;
    }
}
