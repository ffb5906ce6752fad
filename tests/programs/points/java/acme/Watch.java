package acme;

/** Hooks at points. */
public final class Watch {
    private Watch() {}

    static void say(String text) {
        System.out.println("  " + text);
    }

    static String shown(Object value) {
        if (value == null) {
            return "null";
        }
        String name = value.getClass().getName();
        boolean plain = value instanceof String || value instanceof Number || value instanceof Boolean || name.equals("app.Points$Made");
        return plain ? value.toString() : name.startsWith("[") ? "array" : name.substring(name.lastIndexOf('.') + 1).replace("Points$", "");
    }

    public static void get(Object target, Object value, String field) {
        say("got " + field.replace('$', '.') + " of " + shown(target) + ": " + shown(value));
    }

    public static void getting(Object target) {
        say("gets of " + shown(target));
    }

    public static void set(Object target, Object value, String field, String method) {
        say("set in " + method + " " + field.replace('$', '.') + " of " + shown(target) + " to " + shown(value));
    }

    public static void wide(long value) {
        say("long " + value);
    }

    public static void exact(double value, Object target) {
        say("double " + value + " of " + shown(target));
    }

    public static void is(Object target, long value) {
        say("is " + value + " of " + shown(target));
    }

    public static double instead(Object target) {
        say("instead of " + shown(target));
        return 44.5;
    }

    public static void put(Object target, double value, int line) {
        say("not set to " + value + (line > 0 ? " at a line" : ""));
    }

    public static void total(double value) {
        say("total not set to " + value);
    }

    public static void making(Object[] arguments, String type, String method, String signature) {
        String all = "";
        for (Object argument : arguments) {
            all += " " + shown(argument);
        }
        say("makes " + type.substring(type.indexOf('$') + 1) + "." + method + signature + all);
    }

    public static void made(Object first, Object made) {
        say("made of " + shown(first) + ": " + shown(made));
    }

    public static StringBuilder builder(String text) {
        say("builder of " + text);
        return new StringBuilder("<" + text + ">");
    }

    public static void thrown(Throwable exception, String method) {
        say("throws " + exception.getClass().getSimpleName() + " in " + method);
    }

    public static void io(java.io.IOException exception) {
        say("throws input or output: " + exception.getMessage());
    }

    public static void caught(Throwable exception, Object self) {
        say("caught " + exception.getClass().getSimpleName());
    }

    public static void runtime(IllegalStateException exception) {
        say("caught a state: " + exception.getMessage());
    }

    public static void line(int line, String type, String method, String signature, Object self) {
        say("line " + (line > 0) + " " + type + "." + method + signature + " " + shown(self));
    }

    public static void lock(Object target, Object self) {
        say("lock " + shown(target) + " " + shown(self) + " " + Thread.holdsLock(target));
    }

    public static void unlock(Object target) {
        say("unlock " + shown(target) + " " + Thread.holdsLock(target));
    }

    public static void own(Object self, String value) {
        say(shown(self) + " sets " + value);
    }

    public static void bad() {
        throw new IllegalStateException("bad");
    }
}
