package app;

import java.util.Arrays;

/** Calls whose values are recorded. The C# program beside it makes the same calls. */
public final class Values {
    enum Colour { RED, GREEN }

    private static final class Order {
        private final int number;

        Order(int number) {
            this.number = number;
        }

        @Override
        public String toString() {
            if (number < 0) {
                throw new IllegalStateException("no order");
            }
            return "order " + number + mark();
        }

        private String mark() {
            return "!";
        }
    }

    private final String name;

    Values(String name) {
        this.name = name + ".";
    }

    static long primitives(boolean a, char b, byte c, short d, int e, long f, float g, double h) {
        e = e + 1;
        return e + f;
    }

    static String text(String s, int times) {
        if (times < 0) {
            throw new IllegalArgumentException("times");
        }
        String all = s;
        for (int i = 1; i < times; i++) {
            all = all + s;
        }
        return all;
    }

    static void objects(Object a, int[] b, String[] c, Object d) {
        say("objects");
    }

    static Order order(Order o) {
        say("order");
        return o;
    }

    static int nested(int n) {
        return n == 0 ? 0 : n + nested(n - 1);
    }

    String instance(String s) {
        s = s + "?";
        return name + s;
    }

    static void nothing(int n) {
        say("nothing " + n);
    }

    static <T> T same(T value) {
        say("same");
        return value;
    }

    static void say(String s) {
        System.out.println(s);
    }

    private static String repeat(String s, int times) {
        char[] all = new char[times];
        Arrays.fill(all, s.charAt(0));
        return new String(all);
    }

    public static void main(String[] args) throws Exception {
        if (args.length > 0) {
            virtual(Integer.parseInt(args[0]));
            return;
        }
        say("" + primitives(true, 'x', (byte) 4, (short) -500, 1, 1L << 40, 2.5f, -0.125));
        say("" + primitives(false, '\ud83d', (byte) 0, Short.MIN_VALUE, Integer.MIN_VALUE, Long.MIN_VALUE, 0f, 1e300));
        say(text("a", 3));
        say(text("select * from users where password=hunter2 and token=12-34;", 1));
        say("" + text(repeat("y", 200), 2).length());
        say("" + text(repeat("a", 5000) + "token=1", 1).length());
        say("" + text(null, 1));
        say(text("", 1));
        say(text("größe \u20ac \ud83d\ude00", 1));
        try {
            text("fails", -1);
        } catch (IllegalArgumentException e) {
            say(e.getMessage());
        }
        objects("password=x", new int[] {1, 2, 3}, new String[] {"a", null}, Colour.GREEN);
        objects(12, null, new String[0], 1.5);
        objects(new Object[] {1, new Object[] {true, 'c', 2L}}, new int[300], null, Colour.RED);
        // What is masked begins in front of the limit and ends behind it.
        objects(new StringBuilder("0123456789 0123456789 password=secret"), null, null, null);
        say("" + order(new Order(7)));
        order(null);
        order(new Order(-1));
        say("" + nested(3));
        say(new Values("n").instance("i"));
        nothing(5);
        same("text");
        same(6);
        Thread thread = new Thread(new Runnable() {
            @Override
            public void run() {
                text("thread", 1);
            }
        });
        thread.start();
        thread.join();
    }

    /** Each of so many virtual threads makes a call of its own. */
    private static void virtual(int count) throws Exception {
        Thread[] threads = new Thread[count];
        for (int i = 0; i < count; i++) {
            int number = i;
            Runnable task = new Runnable() {
                @Override
                public void run() {
                    for (int n = 0; n < 20; n++) {
                        text("virtual " + number, 1);
                        Thread.yield();
                    }
                }
            };
            threads[i] = (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, task);
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }
}
