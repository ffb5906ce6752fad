package weave.runtime;

import java.net.URI;
import java.net.URISyntaxException;

/** Addresses without what may be secret, for rules that record them. Nothing here asks the network. */
public final class Urls {
    private Urls() {}

    /** The address without user info, and with no value of its query. */
    public static String clean(URI uri) {
        if (uri == null) {
            return null;
        }
        String host = uri.getRawAuthority();
        host = host == null ? "" : "//" + host.substring(host.lastIndexOf('@') + 1);
        String path = uri.isOpaque() ? "***" : path(uri.getRawPath());
        String query = query(uri.getRawQuery());
        return (uri.getScheme() == null ? "" : uri.getScheme() + ":") + host + (path == null ? "" : path) + (query == null ? "" : "?" + query);
    }

    /** As {@link #clean(URI)}, of an address that {@code base} may stand in front of. What is no address is left out. */
    public static String clean(String base, String address) {
        try {
            URI uri = address == null ? null : new URI(address);
            return clean(uri == null || uri.isAbsolute() || base == null ? uri : new URI(base).resolve(uri));
        } catch (URISyntaxException odd) {
            return null;
        }
    }

    /** A query with its names, and {@code ***} for each value. */
    public static String query(String query) {
        if (query == null) {
            return null;
        }
        StringBuilder out = new StringBuilder();
        for (String part : query.split("[&;]", 64)) {
            int equals = part.indexOf('=');
            out.append(out.length() == 0 ? "" : "&").append(equals < 0 ? "***" : part.substring(0, equals) + "=***");
        }
        return out.toString();
    }

    /** A path as it was sent, with {@code ***} for what its parameters say: {@code ;jsessionid=} is a secret. */
    public static String path(String path) {
        int semicolon = path == null ? -1 : path.indexOf(';');
        if (semicolon < 0) {
            return path;
        }
        StringBuilder out = new StringBuilder(path.length());
        int from = 0;
        for (; semicolon >= 0; semicolon = path.indexOf(';', from)) {
            int slash = path.indexOf('/', semicolon);
            int end = slash < 0 ? path.length() : slash;
            int equals = path.indexOf('=', semicolon);
            out.append(path, from, equals < 0 || equals > end ? semicolon + 1 : equals + 1).append("***");
            from = end;
        }
        return out.append(path, from, path.length()).toString();
    }

    /** As {@link #port(URI)}. */
    public static int port(String address) {
        try {
            return address == null ? 0 : port(new URI(address));
        } catch (URISyntaxException odd) {
            return 0;
        }
    }

    /** The port, or that of the scheme; 0 where none is known. */
    public static int port(URI uri) {
        if (uri == null) {
            return 0;
        }
        int port = uri.getPort();
        return port >= 0 ? port : "https".equals(uri.getScheme()) ? 443 : "http".equals(uri.getScheme()) ? 80 : 0;
    }
}
