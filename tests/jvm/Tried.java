import java.lang.annotation.ElementType;
import java.lang.annotation.Target;

/** Returns within tries, whose own hook throws. */
public class Tried {
    @Target(ElementType.TYPE_USE)
    @interface Seen {}

    static String log = "";

    static int called(int n, String text) {
        try {
            if (n == 0) {
                return 10;
            }
            log += "a";
            if (n == 1) {
                throw new IllegalArgumentException("body");
            }
            return 20;
        } catch (@Seen IllegalStateException e) {
            log += "caught ";
            return 30;
        } catch (@Seen RuntimeException e) {
            log += "other ";
            throw e;
        }
    }

    public static int run(int n) {
        log = "";
        try {
            called(n, "text");
        } catch (RuntimeException e) {
            log += e.getMessage();
        }
        System.out.println(log);
        return 0;
    }
}
