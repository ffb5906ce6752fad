import java.io.ByteArrayInputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.lang.module.ModuleDescriptor;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.ProtectionDomain;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipInputStream;

/**
 * Has HotSpot link, and so verify, every class of artifacts, without initialising any.
 *
 * <pre>
 * java -Xverify:all -Xlog:disable LinkAll.java [--root DIR] [--fallback LIST-FILE] [--list LIST-FILE] [--threads N]
 *      [--order N] ARTIFACT...
 * java -Xverify:all -Xlog:disable --add-opens java.base/jdk.internal.loader=ALL-UNNAMED
 *      --add-opens java.base/jdk.internal.access=ALL-UNNAMED
 *      --add-opens java.base/jdk.internal.module=ALL-UNNAMED LinkAll.java --jdk ARTIFACT
 * </pre>
 *
 * An artifact is a jar (nested jars are part of it) or a folder. Each artifact has a loader of its own, which
 * defines the artifact's classes before anyone else's; classes of the same name within one artifact (versions of a
 * multi-release jar, libraries side by side) each have a loader of their own below it. What an artifact lacks is
 * looked for among the fallback jars, then in the JDK. Artifacts are named relative to {@code --root}.
 *
 * <p>{@code --jdk}: the artifact holds a JDK's own classes ({@code module/package/Class.class}), which no ordinary
 * loader may define. They are defined in a second instance of the platform class loader, for which HotSpot allows
 * packages {@code java.*}, in one named module (sealed types ask for it). HotSpot never verifies
 * {@code Object}, {@code String}, {@code Class} and {@code Throwable}, nor (JDK 17) the subclasses of
 * {@code MagicAccessorImpl}, which no loader but its own may define: 51 classes that fail unwoven, too.
 *
 * <p>{@code --order}: classes are linked in another order for each number; 0 or none is by name.
 *
 * <p>Printed, a line a failing class, sorted: {@code artifact TAB class TAB kind TAB message}, the kind being the
 * simple name of the error. The last line is {@code linked N of M}.
 */
public final class LinkAll {
    /** A class of the artifact: where it is and what it is. */
    static final class Unit {
        final String name;
        final String member;
        final byte[] bytes;

        Unit(String name, String member, byte[] bytes) {
            this.name = name;
            this.member = member;
            this.bytes = bytes;
        }
    }

    /** What defines classes from bytes. */
    interface Definer {
        ClassLoader loader();

        Class<?> define(Unit unit);
    }

    static int threads = Runtime.getRuntime().availableProcessors();
    static int order;

    public static void main(String[] args) throws Exception {
        boolean jdk = false;
        String root = "";
        List<String> artifacts = new ArrayList<>();
        Fallback fallback = new Fallback();
        for (int i = 0; i < args.length; i++) {
            if (args[i].equals("--jdk")) {
                jdk = true;
            } else if (args[i].equals("--root")) {
                root = args[++i] + File.separator;
            } else if (args[i].equals("--threads")) {
                threads = Integer.parseInt(args[++i]);
            } else if (args[i].equals("--order")) {
                order = Integer.parseInt(args[++i]);
            } else if (args[i].equals("--list")) {
                artifacts.addAll(Files.readAllLines(Path.of(args[++i])));
            } else if (args[i].equals("--fallback")) {
                for (String jar : Files.readAllLines(Path.of(args[++i]))) {
                    fallback.add(jar);
                }
            } else {
                artifacts.add(args[i]);
            }
        }
        int linked = 0;
        int all = 0;
        for (String artifact : artifacts) {
            List<Unit> units = new ArrayList<>();
            read(new File(root + artifact), units);
            List<String> failures = Collections.synchronizedList(new ArrayList<>());
            if (jdk) {
                linked += linkJdk(units, failures);
            } else {
                linked += linkArtifact(units, fallback, failures);
            }
            all += units.size();
            Collections.sort(failures);
            StringBuilder out = new StringBuilder();
            for (String failure : failures) {
                out.append(artifact).append('\t').append(failure).append('\n');
            }
            System.out.write(out.toString().getBytes(StandardCharsets.UTF_8));
        }
        System.out.println("linked " + linked + " of " + all);
        System.out.flush();
        // The fallback's files stay open, and a second platform loader has daemon threads of nobody: end here.
        Runtime.getRuntime().halt(0);
    }

    // ---- ordinary artifacts

    static int linkArtifact(List<Unit> units, ClassLoader fallback, List<String> failures) throws Exception {
        // The first class of a name, in the order of the archive, belongs to the artifact's own loader;
        // further ones to a loader for their place (`META-INF/versions/9/`, `lib/b.jar!/`).
        Map<String, Unit> first = new HashMap<>();
        Map<String, Map<String, Unit>> others = new LinkedHashMap<>();
        for (Unit unit : units) {
            if (first.putIfAbsent(unit.name, unit) != null) {
                String place = unit.member.substring(0, Math.max(0, unit.member.length() - unit.name.length()));
                others.computeIfAbsent(place, p -> new HashMap<>()).putIfAbsent(unit.name, unit);
            }
        }
        Loader own = new Loader(first, fallback);
        int linked = link(first.values(), new ArtifactDefiner(own), failures);
        for (Map<String, Unit> place : others.values()) {
            linked += link(place.values(), new ArtifactDefiner(new Loader(place, own)), failures);
        }
        return linked;
    }

    static final class ArtifactDefiner implements Definer {
        final Loader loader;

        ArtifactDefiner(Loader loader) {
            this.loader = loader;
        }

        public ClassLoader loader() {
            return loader;
        }

        public Class<?> define(Unit unit) {
            try {
                return Class.forName(unit.name, false, loader);
            } catch (ClassNotFoundException e) {
                throw new NoClassDefFoundError(e.getMessage());
            }
        }
    }

    /** Defines the classes of a map before its parent is asked. */
    static final class Loader extends ClassLoader {
        static {
            registerAsParallelCapable();
        }

        final Map<String, Unit> units;

        Loader(Map<String, Unit> units, ClassLoader parent) {
            super(parent);
            this.units = units;
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            Unit unit = units.get(name);
            if (unit == null) {
                return super.loadClass(name, resolve);
            }
            synchronized (getClassLoadingLock(name)) {
                Class<?> known = findLoadedClass(name);
                return known != null ? known : defineClass(name, unit.bytes, 0, unit.bytes.length);
            }
        }
    }

    /** Classes of the jars beside the artifact, read when asked for; the first jar that has a class gives it. */
    static final class Fallback extends ClassLoader {
        static {
            registerAsParallelCapable();
        }

        final Map<String, ZipFile> where = new HashMap<>();

        Fallback() {
            super(ClassLoader.getPlatformClassLoader());
        }

        void add(String jar) throws IOException {
            ZipFile zip = new ZipFile(jar);
            for (ZipEntry entry : Collections.list(zip.entries())) {
                if (entry.getName().endsWith(".class")) {
                    where.putIfAbsent(entry.getName(), zip);
                }
            }
        }

        @Override
        protected Class<?> findClass(String name) throws ClassNotFoundException {
            String member = name.replace('.', '/') + ".class";
            ZipFile zip = where.get(member);
            if (zip == null) {
                throw new ClassNotFoundException(name);
            }
            try (InputStream in = zip.getInputStream(zip.getEntry(member))) {
                byte[] bytes = in.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            } catch (IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
    }

    // ---- the JDK's own classes

    static int linkJdk(List<Unit> units, List<String> failures) throws Exception {
        PlatformDefiner definer = new PlatformDefiner(units);
        // The platform loader would look into its own modules: all classes must be there before any is linked,
        // supertypes before subtypes, since it is the loader that HotSpot asks for them.
        definer.defineAll(failures);
        return link(definer.defined.keySet(), definer, failures);
    }

    static final class PlatformDefiner implements Definer {
        final ClassLoader loader;
        final Object access;
        final Method define;
        final Map<String, Unit> byName = new LinkedHashMap<>();
        final Map<Unit, Class<?>> defined = new LinkedHashMap<>();
        final Set<String> begun = new HashSet<>();

        PlatformDefiner(List<Unit> units) throws Exception {
            Class<?> type = ClassLoader.getPlatformClassLoader().getClass();
            Constructor<?> constructor = type.getDeclaredConstructors()[0];
            constructor.setAccessible(true);
            Object[] nothing = new Object[constructor.getParameterCount()];
            loader = (ClassLoader) constructor.newInstance(nothing);
            Class<?> secrets = Class.forName("jdk.internal.access.SharedSecrets");
            Method getter = secrets.getMethod("getJavaLangAccess");
            getter.setAccessible(true);
            access = getter.invoke(null);
            define = Class.forName("jdk.internal.access.JavaLangAccess")
                .getMethod("defineClass", ClassLoader.class, String.class, byte[].class, ProtectionDomain.class,
                    String.class);
            define.setAccessible(true);
            Set<String> packages = new HashSet<>();
            for (Unit unit : units) {
                byName.putIfAbsent(unit.name, unit);
                int dot = unit.name.lastIndexOf('.');
                if (dot > 0) {
                    packages.add(unit.name.substring(0, dot));
                }
            }
            Class<?> modules = Class.forName("jdk.internal.module.Modules");
            Method defineModule = modules.getMethod("defineModule", ClassLoader.class, ModuleDescriptor.class, URI.class);
            defineModule.setAccessible(true);
            Object module = defineModule.invoke(null, loader,
                ModuleDescriptor.newOpenModule("everything").packages(packages).build(), null);
            Method addReads = modules.getMethod("addReads", Module.class, Module.class);
            addReads.setAccessible(true);
            addReads.invoke(null, module, Object.class.getModule());
        }

        public ClassLoader loader() {
            return loader;
        }

        public Class<?> define(Unit unit) {
            return defined.get(unit);
        }

        void defineAll(List<String> failures) {
            for (Unit unit : byName.values()) {
                define(unit, failures);
            }
        }

        /** What arrays implement must be the one that HotSpot's own arrays do; neither has a method. */
        private static final Set<String> OF_ARRAYS = Set.of("java.io.Serializable", "java.lang.Cloneable");

        private void define(Unit unit, List<String> failures) {
            if (!begun.add(unit.name)) {
                return;
            }
            if (OF_ARRAYS.contains(unit.name)) {
                try {
                    defined.put(unit, Class.forName(unit.name));
                } catch (ClassNotFoundException e) {
                    throw new AssertionError(e);
                }
                return;
            }
            for (String parent : Supertypes.of(unit.bytes)) {
                Unit known = byName.get(parent);
                if (known != null) {
                    define(known, failures);
                }
            }
            try {
                defined.put(unit, (Class<?>) define.invoke(access, loader, unit.name, unit.bytes, null, null));
            } catch (ReflectiveOperationException | LinkageError e) {
                fail(failures, unit.member, e);
            }
        }
    }

    // ---- linking

    static int link(Iterable<Unit> units, Definer definer, List<String> failures) throws InterruptedException {
        List<Unit> queue = new ArrayList<>();
        units.forEach(queue::add);
        queue.sort((a, b) -> a.member.compareTo(b.member));
        if (order != 0) {
            Collections.shuffle(queue, new Random(order));
        }
        AtomicInteger next = new AtomicInteger();
        AtomicInteger linked = new AtomicInteger();
        Runnable work = () -> {
            for (int i; (i = next.getAndIncrement()) < queue.size(); ) {
                Unit unit = queue.get(i);
                try {
                    // Links (JVM_GetClassDeclaredConstructors), then resolves the types of parameters.
                    definer.define(unit).getDeclaredConstructors();
                    linked.incrementAndGet();
                } catch (Throwable t) {
                    fail(failures, unit.member, t);
                }
            }
        };
        Thread[] workers = new Thread[threads];
        for (int i = 0; i < workers.length; i++) {
            // Deep hierarchies are loaded by recursion.
            workers[i] = new Thread(null, work, "link-" + i, 64L << 20);
            workers[i].start();
        }
        for (Thread thread : workers) {
            thread.join();
        }
        return linked.get();
    }

    static void fail(List<String> failures, String member, Throwable t) {
        Throwable cause = t instanceof java.lang.reflect.InvocationTargetException ? t.getCause() : t;
        String message = String.valueOf(cause.getMessage());
        String[] lines = message.split("\r?\n");
        StringBuilder shown = new StringBuilder(lines[0]);
        // A VerifyError's first line says what, its "Location" and "Reason" where and why.
        for (int i = 1; i < lines.length; i++) {
            String line = lines[i].trim();
            if (line.equals("Location:") || line.equals("Reason:")) {
                shown.append("; ").append(i + 1 < lines.length ? lines[i + 1].trim() : "");
            }
        }
        failures.add(member + "\t" + cause.getClass().getSimpleName() + "\t" + shown);
    }

    // ---- reading

    static void read(File artifact, List<Unit> units) throws IOException {
        if (artifact.isDirectory()) {
            Path root = artifact.toPath();
            List<Path> paths = new ArrayList<>();
            try (java.util.stream.Stream<Path> walk = Files.walk(root)) {
                walk.filter(Files::isRegularFile).sorted().forEach(paths::add);
            }
            for (Path path : paths) {
                String member = root.relativize(path).toString().replace(File.separatorChar, '/');
                add(member, Files.readAllBytes(path), units);
            }
        } else {
            try (ZipFile zip = new ZipFile(artifact)) {
                for (ZipEntry entry : Collections.list(zip.entries())) {
                    if (!entry.isDirectory()) {
                        try (InputStream in = zip.getInputStream(entry)) {
                            add(entry.getName(), in.readAllBytes(), units);
                        }
                    }
                }
            }
        }
    }

    static void add(String member, byte[] bytes, List<Unit> units) throws IOException {
        if (member.endsWith(".jar")) {
            try (ZipInputStream zip = new ZipInputStream(new ByteArrayInputStream(bytes))) {
                for (ZipEntry entry; (entry = zip.getNextEntry()) != null; ) {
                    add(member + "!/" + entry.getName(), zip.readAllBytes(), units);
                }
            }
        } else if (member.endsWith(".class") && !member.endsWith("module-info.class")) {
            String name = Supertypes.nameOf(bytes);
            if (name != null) {
                units.add(new Unit(name, member.substring(0, member.length() - 6), bytes));
            }
        }
    }

    /** The little of a class file that is needed here: JVMS 4.1, 4.4. */
    static final class Supertypes {
        final byte[] b;
        int at;
        final int[] pool;

        private Supertypes(byte[] b) {
            this.b = b;
            at = 8;
            pool = new int[u2()];
            for (int i = 1; i < pool.length; i++) {
                pool[i] = at;
                int tag = b[at++];
                switch (tag) {
                    case 1:
                        int length = u2();
                        at += length;
                        break;
                    case 5:
                    case 6:
                        at += 8;
                        i++;
                        break;
                    case 7:
                    case 8:
                    case 16:
                    case 19:
                    case 20:
                        at += 2;
                        break;
                    case 15:
                        at += 3;
                        break;
                    default:
                        at += 4;
                }
            }
        }

        private int u2() {
            at += 2;
            return (b[at - 2] & 0xff) << 8 | b[at - 1] & 0xff;
        }

        private String type() {
            int entry = u2();
            if (entry == 0) {
                return null;
            }
            int saved = at;
            at = pool[entry] + 1;
            at = pool[u2()] + 1;
            int length = u2();
            String name = new String(b, at, length, StandardCharsets.UTF_8).replace('/', '.');
            at = saved;
            return name;
        }

        /** The class's name; null if the bytes are no class. */
        static String nameOf(byte[] bytes) {
            if (bytes.length < 10 || bytes[0] != (byte) 0xca || bytes[1] != (byte) 0xfe) {
                return null;
            }
            try {
                Supertypes s = new Supertypes(bytes);
                s.at += 2;
                return s.type();
            } catch (IndexOutOfBoundsException e) {
                return null;
            }
        }

        /** The superclass and the interfaces. */
        static List<String> of(byte[] bytes) {
            Supertypes s = new Supertypes(bytes);
            s.at += 4;
            List<String> names = new ArrayList<>(Arrays.asList(s.type()));
            for (int n = s.u2(); n > 0; n--) {
                names.add(s.type());
            }
            names.removeIf(name -> name == null);
            return names;
        }
    }
}
