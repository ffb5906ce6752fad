package app;

/** What {@link Around} inherits. */
public class Base {
    public String nested(String s) {
        return "base " + s + " ";
    }
}
