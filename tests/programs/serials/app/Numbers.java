package app;

import java.io.Externalizable;
import java.io.File;
import java.io.ObjectInput;
import java.io.ObjectOutput;
import java.io.ObjectStreamClass;
import java.io.Serializable;
import java.util.Enumeration;
import java.util.Map;
import java.util.TreeMap;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;

/** Prints the numbers by which serialization knows the classes of a jar, and which of them have a field for it. */
public class Numbers {
    static class Account implements Serializable {
        static final boolean ON = true;
        static final String NAME = "account";
        static int opened;
        int cents = 7;

        public synchronized int get() {
            opened++;
            return cents + (ON ? 1 : 0);
        }
    }

    /** The field of its number lies between others with values, and behind some without. */
    static class Constants implements Serializable {
        static final byte A = 1;
        static final int LAST = 2;
        static byte b;
        static long c;
        static Object d;
        static boolean e;
        static final String z = "last";
        static final double zz = 0.5;

        public String told() {
            return A + " " + LAST + " " + b + " " + c + " " + d + " " + e + " " + z + " " + zz + " " + hashCode() / Integer.MAX_VALUE;
        }
    }

    protected static class Inner implements Serializable, Comparable<Inner> {
        public int compareTo(Inner other) {
            return hashCode() - other.hashCode();
        }
    }

    private abstract static class Hidden implements Externalizable {
        protected abstract int number();

        private synchronized int own() {
            return number() + 1;
        }

        public void writeExternal(ObjectOutput out) {
            System.out.println(own());
        }

        public void readExternal(ObjectInput in) {
            System.out.println(own());
        }
    }

    static class Stated implements Serializable {
        static final long serialVersionUID = 5;

        synchronized int get() {
            return hashCode();
        }
    }

    /** Java does not read this field. */
    static class Wrong implements Serializable {
        final long serialVersionUID = 5;

        synchronized int get() {
            return hashCode();
        }
    }

    static class Plain {
        synchronized int get() {
            return hashCode();
        }
    }

    enum Color {
        RED;

        int get() {
            return hashCode();
        }
    }

    public static void main(String[] args) throws Exception {
        if (new Account().get() != 8)
            throw new AssertionError();
        System.out.println(new Constants().told());
        TreeMap<String, String> all = new TreeMap<>();
        try (JarFile jar = new JarFile(new File(args[0]))) {
            for (Enumeration<JarEntry> entries = jar.entries(); entries.hasMoreElements();)
                tell(entries.nextElement().getName(), all);
        }
        for (Map.Entry<String, String> one : all.entrySet())
            System.out.println(one.getKey() + " " + one.getValue());
        System.out.println(Plain.class.getName() + " 0 " + hasField(Plain.class));
    }

    static void tell(String member, Map<String, String> all) {
        if (!member.endsWith(".class"))
            return;
        try {
            Class<?> type = Class.forName(member.replace(".class", "").replace('/', '.'), false, Numbers.class.getClassLoader());
            ObjectStreamClass of = ObjectStreamClass.lookup(type);
            if (of != null)
                all.put(type.getName(), of.getSerialVersionUID() + " " + hasField(type));
        } catch (Throwable e) {
            // What cannot be loaded has no objects.
        }
    }

    static boolean hasField(Class<?> type) {
        try {
            type.getDeclaredField("serialVersionUID");
            return true;
        } catch (NoSuchFieldException e) {
            return false;
        }
    }
}
