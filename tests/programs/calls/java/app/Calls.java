package app;

import java.io.File;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

public class Calls {
    static void say(String text) {
        System.out.println(text);
    }

    static class Base {
        String name() {
            return "base";
        }

        protected Object clone() {
            return this;
        }
    }

    static final class Derived extends Base {
        @Override
        String name() {
            return "derived of " + super.name();
        }

        private int hidden() {
            return 7;
        }

        int open() {
            return hidden();
        }
    }

    /** Extends what weave does not know. */
    static final class Own extends ArrayList<String> {
        void cut() {
            removeRange(0, 1);
        }
    }

    static final String TEXT = init();

    static String init() {
        return "static".concat(" text");
    }

    static <K, V> V lookup(Map<K, V> map, K key) {
        return map.get(key);
    }

    static long[] wide(long a, double b) {
        return new long[] {a + Math.max(1, 2), Double.compare(b, 2.5)};
    }

    static int compared(long a, double b) {
        int below = 5;
        // Something lies on the stack below the call, and a branch in its arguments.
        return below + Long.compare(a, b > 2 ? 3L : 4L) * 10 + Math.max(below, a > 2 ? 8 : 9);
    }

    static int fallible(Map<String, Integer> map, String key) {
        try {
            return map.get(key);
        } catch (NullPointerException e) {
            return -1;
        } finally {
            say("finally");
        }
    }

    static synchronized String locked(List<String> list) {
        synchronized (list) {
            return list.get(0);
        }
    }

    public static void main(String[] args) throws Exception {
        say("delete " + new File("nowhere.txt").delete());
        say("max " + Math.max(1, 2) + " " + Math.max(3L, 4L) + " " + Math.max(1.5, 2.5));
        List<String> list = new ArrayList<>();
        ArrayList<String> same = (ArrayList<String>) list;
        say("add " + same.add("x") + list.add("y"));
        same.add(0, "first");
        Map<String, Integer> map = new HashMap<>();
        map.put("a", 1);
        say("get " + map.get("a") + " " + lookup(map, "b") + " " + fallible(map, "a") + " " + fallible(map, "c"));
        say("tree " + new TreeMap<>(map).get("a"));
        Thread.sleep(0);
        say("pow " + (int) Math.pow(2, 3));
        say("abs " + Math.abs(-1)
            + " "
            + Math.abs(-2L) + Math.abs(-3));
        say("sub " + "abcdef".substring(1, 3) + "abcdef".substring(4));
        say("wide " + wide(1, 2.5)[0] + " " + compared(3, 2.5));
        say("locked " + locked(list));
        say(TEXT);
        say("name " + new Derived().name() + " " + new Derived().open());
        Own own = new Own();
        own.add("1");
        own.add("2");
        own.cut();
        say("own " + own);
        say("class " + Class.forName("app.Calls").getSimpleName());
        int[] copy = new int[] {1, 2}.clone();
        say("array " + copy.length + " " + new Derived().clone().getClass().getName());
        try {
            Collections.<String>emptyList().get(3);
        } catch (IndexOutOfBoundsException e) {
            say("thrown");
        }
        try {
            say("" + Integer.parseInt("12"));
        } catch (IllegalStateException e) {
            say(e.getMessage());
        }
        say("hash " + "a".hashCode());
    }
}
