package weave.runtime;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.net.JarURLConnection;
import java.net.URL;
import java.net.URLConnection;
import java.security.CodeSource;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.TreeSet;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.zip.CRC32;

/** Copies the symbols maps of woven artifacts into the trace, so that it explains itself. Runs when there are some to look for. */
final class Symbols implements Runnable {
    private static final String FOLDER = "META-INF/weave/";
    /** Names the map beside it, whose name no other artifact uses; earlier versions left the map itself there. */
    private static final String MEMBER = FOLDER + "symbols";
    private static final String SUFFIX = ".wsym";

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
        byte[] bytes = bytes(url);
        String name = new String(bytes, 0, Math.min(bytes.length, 80), "ISO-8859-1").trim();
        if (!name.endsWith(SUFFIX)) {
            copy(bytes);
            return;
        }
        // What several artifacts were packed into has all their maps, and of the files that name them one.
        Set<String> maps = beside(url);
        maps.add(name);
        for (String map : maps) {
            copy(bytes(new URL(url, map)));
        }
    }

    private byte[] bytes(URL url) throws IOException {
        try {
            return read(url);
        } catch (IOException e) {
            names.missed();
            throw e;
        }
    }

    /** The maps in the jar or folder that a URL leads into; none where it leads elsewhere. */
    private static Set<String> beside(URL url) {
        Set<String> found = new TreeSet<String>();
        try {
            URLConnection connection = url.openConnection();
            if (connection instanceof JarURLConnection) {
                connection.setUseCaches(false);
                String entry = ((JarURLConnection) connection).getEntryName();
                String folder = entry.substring(0, entry.length() - MEMBER.length() + FOLDER.length());
                JarFile jar = ((JarURLConnection) connection).getJarFile();
                try {
                    for (JarEntry one : Collections.list(jar.entries())) {
                        if (one.getName().startsWith(folder) && one.getName().endsWith(SUFFIX)) {
                            found.add(one.getName().substring(folder.length()));
                        }
                    }
                } finally {
                    jar.close();
                }
            } else if (url.getProtocol().equals("file")) {
                String[] files = new File(url.toURI()).getParentFile().list();
                for (String file : files == null ? new String[0] : files) {
                    if (file.endsWith(SUFFIX)) {
                        found.add(file);
                    }
                }
            }
        } catch (Exception unlisted) {
            // then there is the one that is named
        }
        return found;
    }

    private void copy(byte[] bytes) {
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
