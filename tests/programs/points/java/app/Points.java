package app;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

public class Points {
    static void say(String text) {
        System.out.println(text);
    }

    /** Each kind of field. */
    static class Order {
        String state = "new";
        long wide = 1;
        private short uses;
        double exact;
        volatile boolean flag;
        int[] items = {1, 2};
        byte small;
        final String fixed;
        static int count;
        static double total;
        static final Object LOCK = new Object();

        Order(String fixed) {
            this.fixed = fixed;
        }

        long widen(int more) {
            wide += more;
            uses++;
            return wide;
        }
    }

    /** Its constructor sets a field of its own before it calls the other one. */
    static class Inner extends Order {
        class Deeper {
            String outer() {
                return state + fixed;
            }
        }

        Inner() {
            super("inner");
        }
    }

    static final class Made {
        final String text;

        Made() {
            this("none");
        }

        Made(String text) {
            this.text = text;
        }

        Made(long a, double b, String c) {
            this(a + " " + b + " " + c);
        }

        @Override
        public String toString() {
            return "made of " + text;
        }
    }

    static String fields() {
        Order order = new Order("fixed");
        order.state = "open";
        order.state += "ed";
        order.exact = order.widen(3) + 0.5;
        order.flag = !order.flag;
        order.small = (byte) 300;
        order.items[1] = order.items[0] + 4;
        Order.count++;
        Order.total = Order.count * 2.5;
        return order.state + " " + order.exact + " " + order.flag + " " + order.small + " " + order.items[1] + " " + Order.total;
    }

    static String nested() {
        return new Inner().new Deeper().outer();
    }

    /** What lies below on the stack stays there. */
    static String below(Order order) {
        return "a" + order.state + (order.flag ? order.state : "b") + order.wide;
    }

    static String objects(boolean more) {
        List<Object> made = new ArrayList<>();
        made.add(new Made());
        made.add(new Made("text"));
        made.add(new Made(5, 2.5, "c"));
        made.add(new Made(new Made("inner").toString()));
        made.add(new Made(more ? "chosen" : "not chosen"));
        new Made("dropped");
        return made.toString();
    }

    static String replaced(Order order) {
        order.exact = 4;
        Order.total = 7;
        return order.exact + " " + Order.total + " " + new StringBuilder("a").append(order.small);
    }

    static int thrown(int how) throws IOException {
        try {
            if (how == 0) {
                throw new FileNotFoundException("zero");
            }
            if (how == 1) {
                throw new IllegalStateException("one");
            }
            if (how == 2) {
                Exception wide = new IOException("two");
                throw (IOException) wide;
            }
            return Integer.parseInt("x" + how);
        } catch (FileNotFoundException e) {
            say("not found " + e.getMessage());
            return 1;
        } catch (IllegalStateException | NumberFormatException e) {
            say("two of them");
            return 2;
        } finally {
            say("finally");
        }
    }

    static String caught(int how) {
        try {
            return "returned " + thrown(how);
        } catch (IOException e) {
            return "caught " + e.getMessage();
        }
    }

    static int lines(int n) {
        int sum = 0;
        for (int i = 0; i < n; i++) {
            sum += i;
        }
        return sum;
    }

    String text = "own";

    String locks(Object lock) {
        synchronized (lock) {
            synchronized (this) {
                if (text.isEmpty()) {
                    throw new IllegalStateException();
                }
                return text;
            }
        }
    }

    int of(int n) {
        text = "changed" + n;
        return n > 0 ? of(n - 1) : text.length();
    }

    static String guarded() {
        Order.count = 100;
        return "guarded " + Order.count;
    }

    static String unguarded() {
        try {
            synchronized (Order.LOCK) {
                say("locked");
            }
            return "not thrown";
        } catch (IllegalStateException e) {
            // The lock was given up.
            return "thrown " + e.getMessage() + " " + Thread.holdsLock(Order.LOCK);
        }
    }

    static long wides(long a, double b) {
        Order order = new Order("w");
        order.wide = a;
        order.exact = b;
        return order.wide + (long) order.exact;
    }

    public static void main(String[] args) {
        say(fields());
        say(nested());
        say(below(new Order("below")));
        say(objects(true));
        say(replaced(new Order("replaced")));
        for (int how = 0; how < 4; how++) {
            say(caught(how));
        }
        say("" + lines(3));
        Points points = new Points();
        say(points.locks("lock"));
        say("" + points.of(2));
        say(guarded());
        say(unguarded());
        say("" + wides(1L << 40, 2.5));
    }
}
