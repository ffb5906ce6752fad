package weave.runtime;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/** What commands of Redis are, and the servers that connections are to, for rules that record them. */
public final class Redis {
    private static final int LONGEST = 200;
    private static final int MOST = 16;
    /** Commands whose first argument is a script, and those that begin with what logs in. */
    private static final String[] KEYLESS = {"EVAL", "FCALL", "AUTH", "HELLO", "SCRIPT", "CONFIG", "ACL"};

    private Redis() {}

    private static final class Servers {
        static final Known<String> HOSTS = new Known<String>();
        static final Known<Integer> PORTS = new Known<Integer>();
    }

    /** A connection is to this server. */
    public static void connected(Object connection, String host, int port) {
        Servers.HOSTS.put(connection, host);
        Servers.PORTS.put(connection, host == null ? null : Integer.valueOf(port));
    }

    /** The host that a connection is to, or null. */
    public static String host(Object connection) {
        return Servers.HOSTS.of(connection);
    }

    /** The port, or null. */
    public static Integer port(Object connection) {
        return Servers.PORTS.of(connection);
    }

    /** The command with its first key, and {@code ?} for each other argument. */
    public static String text(Object command, ByteBuffer key, int arguments) {
        if (command == null) {
            return null;
        }
        StringBuilder out = new StringBuilder(command.toString());
        int rest = arguments;
        if (key != null && rest > 0 && !isKeyless(out)) {
            String text = StandardCharsets.UTF_8.decode(key.duplicate()).toString();
            out.append(' ').append(text, 0, Math.min(text.length(), LONGEST));
            rest--;
        }
        for (int i = 0; i < rest && i < MOST; i++) {
            out.append(" ?");
        }
        return out.append(rest > MOST ? " .." : "").toString();
    }

    /** The command with {@code ?} for each argument, of which there are {@code size} with itself. */
    public static String text(Object command, int size) {
        return text(command, null, size - 1);
    }

    private static boolean isKeyless(CharSequence command) {
        String name = command.toString().toUpperCase(java.util.Locale.ROOT);
        for (String one : KEYLESS) {
            if (name.startsWith(one)) {
                return true;
            }
        }
        return false;
    }
}
