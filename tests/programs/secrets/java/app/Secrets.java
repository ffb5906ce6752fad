package app;

import java.nio.charset.StandardCharsets;

/** A program that has secrets in messages, names of threads, values and its command line. The same program is in C#. */
public class Secrets {
    static class Told extends RuntimeException {
        Told(String message) {
            super(message);
        }

        @Override
        public String getMessage() {
            System.out.println("asked");
            return super.getMessage();
        }
    }

    /** Its message is code that throws. */
    static class Wild extends RuntimeException {
        @Override
        public String getMessage() {
            System.out.println("asked");
            throw new IllegalStateException("password=SECRETTHROWN");
        }
    }

    /** Its message never comes to an end. */
    static class Endless extends RuntimeException {
        @Override
        public String getMessage() {
            return query("bad password=SECRETAGAIN") + getMessage();
        }
    }

    static void inner(String text) {
        throw new Told("cannot run: " + text);
    }

    static String query(String text) {
        if (text.startsWith("bad")) {
            inner(text);
        }
        return text;
    }

    static void wild(boolean endless) {
        throw endless ? new Endless() : new Wild();
    }

    static String items(String text) {
        throw new Told("no item: " + text);
    }

    static String later(String text) {
        throw new Told("too late: " + text);
    }

    static int pay(long card, char[] pin, byte[] bytes, StringBuilder builder) {
        return pin.length + bytes.length + builder.length() + (int) (card % 10);
    }

    static void query() {
        try {
            query("bad password=SECRETQUERY");
        } catch (Told e) {
            System.out.println("told");
        }
    }

    static void echo(String text) {
        throw new Told(text);
    }

    public static void main(String[] args) throws Exception {
        if (args[0].equals("echo")) {
            for (int i = 1; i < args.length; i++) {
                try {
                    echo(args[i]);
                } catch (Told e) {
                    System.out.println("told");
                }
            }
            return;
        }
        if (args[0].equals("items") || args[0].equals("later")) {
            try {
                System.out.println(args[0].equals("items") ? items("password=SECRETITEM") : later("password=SECRETITEM"));
            } catch (Told e) {
                System.out.println("told");
            }
            return;
        }
        Thread thread = new Thread("worker password=SECRETTHREAD") {
            @Override
            public void run() {
                query();
            }
        };
        thread.start();
        thread.join();
        System.out.println(query("ok password=SECRETRESULT"));
        System.out.println(pay(4111222233334444L, "pin=SECRETPIN".toCharArray(), "pin=SECRETBYTES".getBytes(StandardCharsets.UTF_8),
            new StringBuilder("pin=SECRETBUILDER")));
        for (int i = 0; i < 2; i++) {
            try {
                wild(i > 0);
            } catch (RuntimeException e) {
                System.out.println("wild");
            }
        }
    }
}
