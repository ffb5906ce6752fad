package weave.runtime;

import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.Statement;
import java.util.Locale;

/**
 * The database that a statement goes to: product, server, port and name, from the URL in the connection's metadata. Spans record nothing else of
 * the URL: no user, no password, no parameter. Reading it sends nothing to the database.
 */
public final class Jdbc {
    private static final int LONGEST = 2_048;
    private static final int LONGEST_NAME = 255;
    /** So many connections at once are known. */
    private static final int MOST = 1 << 14;
    private static final Jdbc NOWHERE = new Jdbc(null, null, 0, null);
    /** What addresses begin with, the product's name by the conventions, and its port. */
    private static final String[][] PRODUCTS = {
        {"postgresql", "postgresql", "5432"}, {"mysql", "mysql", "3306"}, {"mariadb", "mariadb", "3306"}, {"h2", "h2database", "0"},
        {"sqlserver", "microsoft.sql_server", "1433"}, {"jtds", "microsoft.sql_server", "1433"}, {"oracle", "oracle.db", "1521"},
        {"db2", "ibm.db2", "50000"}, {"hsqldb", "hsqldb", "0"}, {"derby", "derby", "0"}, {"sqlite", "sqlite", "0"},
        {"clickhouse", "clickhouse", "8123"}, {"ch", "clickhouse", "8123"}, {"cockroachdb", "cockroachdb", "26257"},
    };

    private final String system;
    private final String host;
    private final int port;
    private final String name;

    private Jdbc(String system, String host, int port, String name) {
        this.system = system;
        this.host = host;
        this.port = port;
        this.name = name;
    }

    private static final class Places {
        static final Known<Jdbc> ALL = new Known<Jdbc>(MOST);
    }

    /** The product as OpenTelemetry's conventions call it, or null. */
    public static String system(Statement statement) {
        return of(statement).system;
    }

    /** The server's name, or null. */
    public static String address(Statement statement) {
        return of(statement).host;
    }

    /** Its port, or null. */
    public static Integer port(Statement statement) {
        int port = of(statement).port;
        return port == 0 ? null : Integer.valueOf(port);
    }

    /** The database's name, or null. */
    public static String namespace(Statement statement) {
        return of(statement).name;
    }

    private static Jdbc of(Statement statement) {
        try {
            Connection connection = statement == null ? null : statement.getConnection();
            if (connection == null) {
                return NOWHERE;
            }
            Jdbc known = Places.ALL.of(connection);
            if (known == null) {
                DatabaseMetaData data = connection.getMetaData();
                known = place(data == null ? null : data.getURL());
                Places.ALL.put(connection, known);
            }
            return known;
        } catch (Exception closed) {
            return NOWHERE;
        } catch (LinkageError old) {
            return NOWHERE; // a driver that lacks the method
        }
    }

    /** What an address says: product, server, port and name with blanks between, as tests read it. */
    static String told(String url) {
        Jdbc place = place(url);
        return place.system + " " + place.host + " " + place.port + " " + place.name;
    }

    private static Jdbc place(String url) {
        if (url == null || url.length() > LONGEST || !url.startsWith("jdbc:")) {
            return NOWHERE;
        }
        String rest = url.substring(5);
        String[] product = {"", "other_sql", "0"};
        for (String[] one : PRODUCTS) {
            boolean is = rest.startsWith(one[0] + ":") || rest.startsWith(one[0] + "+");
            product = is ? one : product;
        }
        String system = product[1];
        int port = Integer.parseInt(product[2]);
        switch (product[0]) {
            case "oracle":
                return oracle(rest, system, port);
            case "h2":
            case "hsqldb":
            case "derby":
            case "sqlite":
                return embedded(system, rest.substring(product[0].length() + 1));
            default:
                int slashes = rest.indexOf("//");
                if (slashes >= 0) {
                    return server(system, port, rest.substring(slashes + 2), product[0].equals("sqlserver"));
                }
                // PostgreSQL's at home: jdbc:postgresql:shop
                String name = product[0].isEmpty() ? null : rest.substring(product[0].length() + 1);
                return new Jdbc(system, name == null ? null : "localhost", name == null ? 0 : port, name(name));
        }
    }

    /** {@code host:port,host:port/name?..}, with user info or without; of SQL Server {@code host\instance:port;databaseName=name}. */
    private static Jdbc server(String system, int standard, String text, boolean isSqlServer) {
        int end = end(text, "/?;");
        String all = text.substring(0, end);
        String more = text.substring(end);
        String name = more.startsWith("/") ? name(more.substring(1)) : null;
        if (isSqlServer) {
            name = first(parameter(more, "databasename", ";"), parameter(more, "database", ";"));
        }
        all = all.substring(all.lastIndexOf('@') + 1);
        if (all.toLowerCase(Locale.ROOT).startsWith("address=(")) {
            String port = parameter(all, "port", "()");
            return new Jdbc(system, parameter(all, "host", "()"), number(port, standard), name);
        }
        int comma = all.indexOf(',');
        String one = comma < 0 ? all : all.substring(0, comma);
        int close = one.startsWith("[") ? one.indexOf(']') : -1;
        int colon = one.indexOf(':', Math.max(close, 0));
        String host = colon < 0 ? one : one.substring(0, colon);
        int instance = host.indexOf('\\');
        host = instance < 0 ? host : host.substring(0, instance);
        host = close > 0 && host.endsWith("]") ? host.substring(1, host.length() - 1) : host;
        return new Jdbc(system, host.isEmpty() ? "localhost" : name(host), colon < 0 ? standard : number(one.substring(colon + 1), standard), name);
    }

    /** {@code thin:user/password@//host:port/service}, {@code @host:port:sid}, {@code @(DESCRIPTION=..)}. */
    private static Jdbc oracle(String rest, String system, int standard) {
        int at = rest.lastIndexOf('@');
        if (at < 0) {
            return new Jdbc(system, null, 0, null);
        }
        String text = rest.substring(at + 1);
        if (text.startsWith("(")) {
            String name = first(parameter(text, "service_name", "()"), parameter(text, "sid", "()"));
            return new Jdbc(system, parameter(text, "host", "()"), number(parameter(text, "port", "()"), standard), name);
        }
        int slashes = text.indexOf("//");
        text = slashes < 0 ? text : text.substring(slashes + 2);
        int end = end(text, "/?");
        String[] parts = text.substring(0, end).split(":", 3);
        String name = parts.length == 3 ? name(parts[2]) : end < text.length() && text.charAt(end) == '/' ? name(text.substring(end + 1)) : null;
        boolean isAlias = parts.length == 1 && name == null;
        return isAlias ? new Jdbc(system, null, 0, name(text.substring(0, end)))
            : new Jdbc(system, name(parts[0]), parts.length == 1 ? standard : number(parts[1], standard), name);
    }

    /** What may run within the process: {@code mem:name;..}, {@code file:path}, {@code tcp://host:port/path}. */
    private static Jdbc embedded(String system, String rest) {
        int slashes = rest.indexOf("://");
        if (slashes >= 0 && !rest.startsWith("file:")) {
            return server(system, 0, rest.substring(slashes + 3), false);
        }
        boolean isDerbyServer = rest.startsWith("//");
        if (isDerbyServer) {
            return server(system, 1527, rest.substring(2), false);
        }
        int kind = rest.startsWith("mem:") || rest.startsWith("nio:") ? 4 : rest.startsWith("file:") ? 5 : rest.startsWith("memory:") ? 7 : 0;
        return new Jdbc(system, null, 0, name(rest.substring(kind)));
    }

    private static int end(String text, String marks) {
        for (int i = 0; i < text.length(); i++) {
            if (marks.indexOf(text.charAt(i)) >= 0) {
                return i;
            }
        }
        return text.length();
    }

    /** A name up to where parameters begin; null for none. */
    private static String name(String text) {
        String name = text == null ? "" : text.substring(0, end(text, "?;&"));
        return name.isEmpty() || name.length() > LONGEST_NAME || name.indexOf('@') >= 0 || name.indexOf('=') >= 0 ? null : name;
    }

    /** The value of {@code key=value} between such marks, whatever the case of the key; null where it is not there. */
    private static String parameter(String text, String key, String marks) {
        for (int at = 0; at < text.length();) {
            int end = at + end(text.substring(at), marks);
            int equals = text.indexOf('=', at);
            if (equals >= 0 && equals < end && text.substring(at, equals).trim().equalsIgnoreCase(key)) {
                return name(text.substring(equals + 1, end).trim());
            }
            at = end + 1;
        }
        return null;
    }

    private static String first(String one, String other) {
        return one != null ? one : other;
    }

    private static int number(String text, int standard) {
        int number = 0;
        for (int i = 0; text != null && i < text.length(); i++) {
            char c = text.charAt(i);
            number = c >= '0' && c <= '9' && number <= 0xFFFF ? number * 10 + c - '0' : 1 << 20;
        }
        return number > 0 && number <= 0xFFFF ? number : standard;
    }
}
