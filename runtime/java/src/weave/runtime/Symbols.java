package weave.runtime;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.net.URLConnection;
import java.util.Collections;
import java.util.Enumeration;
import java.util.LinkedHashMap;
import java.util.Map;

/** Copies the symbols maps of all woven artifacts that can be seen into the trace, so that it explains itself. */
final class Symbols implements Runnable {
    private static final String MEMBER = "META-INF/weave/symbols";

    private final Store store;
    private ClassLoader context;

    Symbols(Store store, ClassLoader context) {
        this.store = store;
        this.context = context;
    }

    @Override
    public void run() {
        Hooks.LANES.set(Lane.MUTE); // the class loaders may be woven
        // By text: a URL's equals asks the network.
        Map<String, URL> found = new LinkedHashMap<String, URL>();
        boolean all = find(Symbols.class.getClassLoader(), found);
        all &= find(context, found);
        all &= find(ClassLoader.getSystemClassLoader(), found);
        context = null;
        int map = 0;
        for (URL url : found.values()) {
            try {
                all &= store.symbols(map++, read(url));
            } catch (Throwable unreadable) {
                all = false;
            }
        }
        if (all) {
            store.header.setFlag(Header.SYMBOLS);
        }
    }

    private static boolean find(ClassLoader loader, Map<String, URL> found) {
        if (loader == null) {
            return true;
        }
        try {
            Enumeration<URL> urls = loader.getResources(MEMBER);
            for (URL url : Collections.list(urls)) {
                found.put(url.toString(), url);
            }
            return true;
        } catch (Throwable broken) {
            return false;
        }
    }

    private static byte[] read(URL url) throws IOException {
        URLConnection connection = url.openConnection();
        connection.setUseCaches(false); // else the program's jar stays open, and locked on Windows
        InputStream in = connection.getInputStream();
        try {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            byte[] block = new byte[16_384];
            for (int n; (n = in.read(block)) >= 0;) {
                bytes.write(block, 0, n);
            }
            return bytes.toByteArray();
        } finally {
            in.close();
        }
    }
}
