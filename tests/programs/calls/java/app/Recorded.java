package app;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/** Calls of the platform that are recorded. */
public class Recorded {
    static int parsed(String text) {
        try {
            return Integer.parseInt(text);
        } catch (NumberFormatException e) {
            return -1;
        }
    }

    static double wide(long a, double b) {
        // Something lies on the stack below the calls.
        return a + Math.pow(Math.max(a, 2L), b);
    }

    /** In its class no method has hooks. */
    static final class Inner {
        static String joined(List<String> list) {
            synchronized (list) {
                return list.get(0).concat("-").concat(list.get(1));
            }
        }
    }

    public static void main(String[] args) throws Exception {
        System.out.println("parsed " + parsed("12") + " " + parsed("boom"));
        System.out.println("wide " + (int) wide(3, 2));
        List<String> list = new ArrayList<>(letters());
        System.out.println("joined " + Inner.joined(list));
        Map<String, Object> map = new HashMap<>();
        map.put("password=secret", "hidden");
        map.putAll(Collections.singletonMap("k", 1));
        map.clear();
        Supplier<Integer> later = new Supplier<Integer>() {
            @Override
            public Integer get() {
                return Character.getNumericValue('7');
            }
        };
        System.out.println("later " + later.get());
        try {
            Collections.emptyIterator().next();
        } catch (java.util.NoSuchElementException e) {
            System.out.println("thrown");
        }
        System.out.println("replaced " + Long.parseLong("5") + " " + "ab".length());
    }

    private static List<String> letters() {
        List<String> list = new ArrayList<>();
        list.add("a");
        list.add("b");
        return list;
    }
}
