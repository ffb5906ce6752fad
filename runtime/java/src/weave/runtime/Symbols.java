package weave.runtime;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.lang.ref.WeakReference;
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

    /** So often a search goes on after something has failed, for want of memory with a pause. */
    private static final int TRIES = 60;
    /** The loaders that are always asked, and in front of them the old traces. */
    private static final int FIRST = 3;

    private final Store store;
    private final Names names;
    /** What is always done first: how much of it is done. */
    private int begun;
    /** What is being asked, until that has come to an end. */
    private WeakReference<Object> current;

    Symbols(Store store, Names names) {
        this.store = store;
        this.names = names;
        begun = store.copied.isEmpty() ? 0 : FIRST;
    }

    @Override
    public void run() {
        for (int tries = 0; tries < TRIES; tries++) {
            try {
                Switch.LANES.mute(); // the class loaders may be woven
                begin();
                look();
                return;
            } catch (OutOfMemoryError full) {
                if (!names.rest()) {
                    break;
                }
            } catch (InternalError gone) {
                store.fault(); // the file's memory
                Cursor.settle();
                break;
            } catch (Throwable broken) {
                names.missed();
                begun = FIRST;
                current = null;
            }
        }
        names.stopped();
    }

    private void begin() {
        if (begun == 0) {
            store.settings.sweep(store.path());
            begun = 1;
        }
        if (begun == 1) {
            ask(Symbols.class.getClassLoader(), null);
            begun = 2;
        }
        if (begun == 2) {
            ask(ClassLoader.getSystemClassLoader(), null);
            begun = FIRST;
        }
    }

    private void look() {
        for (; current != null || (current = names.next()) != null; current = null) {
            Object there = current.get();
            if (there instanceof Class) {
                ask(((Class<?>) there).getClassLoader(), (Class<?>) there);
            } else if (there != null) {
                ask((ClassLoader) there, null);
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
        } catch (OutOfMemoryError full) {
            throw full;
        } catch (Throwable broken) {
            names.missed();
        }
        try {
            CodeSource source = woven == null ? null : woven.getProtectionDomain().getCodeSource();
            if (asked.isEmpty() && source != null && source.getLocation() != null) {
                String place = source.getLocation().toString();
                copy(new URL(place.endsWith("/") ? place + MEMBER : "jar:" + place + "!/" + MEMBER));
            }
        } catch (OutOfMemoryError full) {
            throw full;
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
        Long known = (long) bytes.length << 32 | crc.getValue();
        if (store.copied.contains(known)) {
            return;
        }
        Ids ids = new Ids();
        try {
            ids.read(bytes);
        } catch (Exception malformed) {
            // The trace has it; the ids that could be read have names.
        }
        // All that takes memory comes first, so that it can be tried again.
        int[] named = names.with(ids.ids, ids.count);
        boolean copied = store.symbols(store.maps, bytes);
        store.copied.add(known);
        if (!copied) {
            names.missed();
            return;
        }
        store.maps++;
        names.use(named, ids.ids, ids.count);
        store.control.add(ids);
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
