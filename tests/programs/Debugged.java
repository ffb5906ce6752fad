import java.util.ArrayList;
import java.util.List;
import java.util.function.IntUnaryOperator;
import org.apache.commons.codec.binary.Hex;
import org.apache.commons.codec.language.Soundex;

/** A small program for a debugger: every shape of code around which a hook must not move a line or a variable. */
public final class Debugged {
    static class Shape {
        final int sides;

        Shape(int sides) {
            this.sides = sides;
        }

        int area() {
            return sides * sides;
        }
    }

    static final class Square extends Shape {
        final String name;

        Square(String name) {
            super(name.isEmpty() ? 3 : 4);
            this.name = name;
        }

        Square() {
            this("unnamed");
        }

        @Override
        int area() {
            int twice = super.area();
            twice *= 2;
            return twice;
        }
    }

    /** The loop's head is the first instruction: a breakpoint there is met each time round. */
    static int loops(int n) {
        do {
            n -= 3;
        } while (n > 0);
        return n;
    }

    static int recurs(int n) {
        if (n < 2) {
            return n;
        }
        int left = recurs(n - 1);
        int right = recurs(n - 2);
        return left + right;
    }

    static String chooses(int n, String s) {
        switch (n) {
            case 0:
                return "none";
            case 1: {
                long wide = 1L << 40;
                return s + wide;
            }
            case 70_000:
                return "far";
            default:
                break;
        }
        switch (s) {
            case "a":
                return "letter";
            default:
                double other = n / 2.0;
                return "other " + other;
        }
    }

    static int fails(List<String> log, int n) {
        int state = n;
        try {
            if (state % 2 == 0) {
                throw new IllegalArgumentException("even " + state);
            }
            state++;
            return state;
        } catch (IllegalArgumentException e) {
            String why = e.getMessage();
            log.add(why);
            throw new IllegalStateException(why, e);
        } finally {
            int closing = state * 10;
            log.add("closed " + closing);
        }
    }

    static synchronized void nothing() {}

    public static void main(String[] args) throws Exception {
        int total = 0;
        for (int i = 0; i < 3; i++) {
            total += loops(i * 4);
        }
        total += recurs(5);
        Shape shape = total > 0 ? new Square() : new Shape(5);
        total += shape.area() + new Square("").area();
        for (int n : new int[] {0, 1, 70_000, 7}) {
            System.out.println(chooses(n, n == 7 ? "a" : "b"));
        }
        List<String> log = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            try {
                total += fails(log, i);
            } catch (IllegalStateException e) {
                log.add("caught " + e.getMessage());
            }
        }
        int base = total;
        IntUnaryOperator lambda = x -> {
            int sum = x + base;
            return sum * 2;
        };
        total = lambda.applyAsInt(3);
        nothing();
        System.out.println(Hex.encodeHexString("weave".getBytes("UTF-8")));
        System.out.println(new Soundex().encode("Weaver"));
        System.out.println(total + " " + log);
    }
}
