package acme;

import java.io.File;
import java.util.List;
import java.util.Map;

/** Hooks at calls. */
public final class Audit {
    private Audit() {}

    static void say(String text) {
        System.out.println("  " + text);
    }

    // In place of calls: directly, and by way of a method that converts.

    public static boolean delete(File file) {
        say("delete " + file.getName());
        return false;
    }

    public static int max(int a, int b) {
        say("max");
        return Math.max(a, b) + 1000;
    }

    public static Object get(Object map, Object key) {
        say("get " + key);
        return ((Map<?, ?>) map).get(key);
    }

    public static long sleep(Object[] arguments, String method, String type, String signature) {
        say(type + "." + method + signature + " " + arguments[0] + " " + arguments.length);
        return 1;
    }

    public static int pow(double base, double exponent, String text, long number, boolean flag) {
        say("pow " + base + " " + exponent + " " + text + " " + number + " " + flag);
        return 8;
    }

    public static String sub(String text, int from, int to) {
        return "<" + text.substring(from, to) + ">";
    }

    public static long parsed(String text) {
        return Long.parseLong(text) + 100;
    }

    public static int length(String text) {
        return text.length() + 100;
    }

    // Around calls.

    public static void from(String caller, int length) {
        say("from " + caller + " " + length);
    }

    private static int last;

    public static void line(int line, String caller) {
        say((last == 0 && line > 0 ? "a line" : line - last + " lines on") + " in " + caller);
        last = line;
    }

    public static long before(Object target, Object first) {
        say("before " + (target == null ? "none" : target.getClass().getSimpleName()) + " " + first);
        return 42;
    }

    public static void after(Object target, Object result, long state) {
        say("after " + (target == null ? "none" : target.getClass().getSimpleName()) + " " + result + " " + state);
    }

    public static void all(String method, Object[] arguments) {
        StringBuilder text = new StringBuilder("all " + method);
        for (Object argument : arguments) {
            text.append(' ').append(argument);
        }
        say(text.toString());
    }

    public static void outer() {
        say("outer");
    }

    public static void bad(Object target) {
        throw new IllegalStateException("bad hook");
    }

    public static void strict(Object target) {
        throw new IllegalStateException("strict hook");
    }

    public static void number(long value, double other, int result) {
        say("number " + value + " " + other + " " + result);
    }
}
