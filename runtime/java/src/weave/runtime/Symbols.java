package weave.runtime;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.net.URLConnection;
import java.security.CodeSource;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.zip.CRC32;

/** Copies the symbols maps of woven artifacts into the trace, so that it explains itself. Runs when there are some to look for. */
final class Symbols implements Runnable {
    private static final String MEMBER = "META-INF/weave/symbols";

    private final Store store;
    private final Names names;

    Symbols(Store store, Names names) {
        this.store = store;
        this.names = names;
    }

    @Override
    public void run() {
        try {
            Switch.LANES.mute(); // the class loaders may be woven
            if (store.maps == 0 && store.copied.isEmpty()) {
                store.settings.sweep(store.path());
                ask(Symbols.class.getClassLoader(), null);
                ask(ClassLoader.getSystemClassLoader(), null);
            }
        } catch (Throwable t) {
            names.missed();
        }
        try {
            look();
        } catch (Throwable gone) {
            store.fault(); // the file's memory
        }
    }

    private void look() {
        for (Object next; (next = names.next()) != null;) {
            try {
                if (next instanceof Class) {
                    ask(((Class<?>) next).getClassLoader(), (Class<?>) next);
                } else {
                    ask((ClassLoader) next, null);
                }
            } catch (Throwable t) {
                names.missed();
            }
        }
    }

    /** Asks a loader, and the place that a class comes from: not all loaders show what lies beside their classes. */
    private void ask(ClassLoader loader, Class<?> woven) {
        // By text: a URL's equals asks the network.
        Set<String> asked = new LinkedHashSet<String>();
        try {
            if (loader != null) {
                for (URL url : Collections.list(loader.getResources(MEMBER))) {
                    if (asked.add(url.toString())) {
                        copy(url);
                    }
                }
            }
        } catch (Throwable broken) {
            names.missed();
        }
        try {
            CodeSource source = woven == null ? null : woven.getProtectionDomain().getCodeSource();
            if (asked.isEmpty() && source != null && source.getLocation() != null) {
                String place = source.getLocation().toString();
                copy(new URL(place.endsWith("/") ? place + MEMBER : "jar:" + place + "!/" + MEMBER));
            }
        } catch (Throwable nothingThere) {
            // then it is not woven, or its map lies elsewhere
        }
    }

    private void copy(URL url) throws IOException {
        byte[] bytes;
        try {
            bytes = read(url);
        } catch (IOException e) {
            names.missed();
            throw e;
        }
        CRC32 crc = new CRC32();
        crc.update(bytes, 0, bytes.length);
        if (!store.copied.add((long) bytes.length << 32 | crc.getValue())) {
            return;
        }
        if (!store.symbols(store.maps++, bytes)) {
            names.missed();
            return;
        }
        Ids ids = new Ids();
        try {
            ids.read(bytes);
        } catch (Throwable malformed) {
            // The trace has it; the ids that could be read have names.
        }
        names.add(ids.ids, ids.count);
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
