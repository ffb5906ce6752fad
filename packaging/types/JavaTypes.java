import java.io.IOException;
import java.io.PrintStream;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassModel;
import java.lang.reflect.AccessFlag;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;

/**
 * Writes rules/types-java.txt: the public types of the JDK and of Android, with the types directly above them and the names of their
 * protected methods. If several releases have a type, the newest counts, and the protected methods of all of them.
 *
 * <p>With JDK 25, whose lib/ct.sym has the releases before it:
 * {@code java --add-modules ALL-SYSTEM packaging/types/JavaTypes.java android-all-13-robolectric-9030017.jar > rules/types-java.txt}
 */
class JavaTypes {
    static class Type {
        boolean isPublic;
        final List<String> above = new ArrayList<>();
        final TreeSet<String> hidden = new TreeSet<>();
    }

    static final Map<String, Type> types = new TreeMap<>();

    /** The packages of Android's that its documentation has; the rest is the system's own. */
    static final String ANDROID = "android/(accessibilityservice|accounts|animation|app|app/(admin|assist|backup|job|role|slice|usage)|appwidget"
            + "|bluetooth|bluetooth/le|companion|content|content/(pm|res|loader)|database|database/sqlite|drm|gesture|graphics"
            + "|graphics/(drawable|fonts|pdf|text)|hardware|hardware/(biometrics|camera2|display|fingerprint|input|usb)"
            + "|icu/(lang|math|number|text|util)|inputmethodservice|location|media|media/(audiofx|browse|effect|midi|projection|session|tv)"
            + "|mtp|net|net/(http|nsd|rtp|sip|ssl|wifi|wifi/p2p|vcn)|nfc|nfc/(cardemulation|tech)|opengl|os|os/(storage|health)|preference"
            + "|print|print/pdf|printservice|provider|renderscript|sax|se/omapi|security|security/(identity|keystore)|service/[a-z]+"
            + "|speech|speech/tts|system|telecom|telephony|telephony/(data|gsm|cdma|mbms|euicc|ims)|test|test/[a-z]+|text"
            + "|text/(format|method|style|util)|transition|util|view|view/(accessibility|animation|autofill|inputmethod|textclassifier"
            + "|textservice|translation|contentcapture)|webkit|widget|widget/inline|window)/[^/]*(?<!Stub|Proxy|Default)";

    public static void main(String[] args) throws IOException {
        FileSystem jdk = FileSystems.getFileSystem(URI.create("jrt:/"));
        for (Module module : ModuleLayer.boot().modules()) {
            read(jdk.getPath("modules", module.getName()), name -> module.isExported(packageOf(name).replace('/', '.')));
        }
        Path symbols = Path.of(System.getProperty("java.home"), "lib", "ct.sym");
        try (FileSystem releases = FileSystems.newFileSystem(symbols); var listed = Files.list(releases.getPath("/"))) {
            // A folder is named by the releases that have its classes, 8 to P.
            List<Path> newestFirst = new ArrayList<>(listed.toList());
            newestFirst.sort((a, b) -> newest(b) - newest(a));
            for (Path release : newestFirst) {
                try (var modules = Files.list(release)) {
                    for (Path module : (Iterable<Path>) modules::iterator) {
                        read(module, name -> !name.startsWith("jdk/internal/") && !name.startsWith("sun/"));
                    }
                }
            }
        }
        for (String jar : args) {
            try (FileSystem android = FileSystems.newFileSystem(Path.of(jar))) {
                read(android.getPath("/"), name -> name.matches(ANDROID) || name.matches("(dalvik|org/apache/http|org/json|org/xmlpull)/.*"));
            }
        }
        write();
    }

    static char newest(Path release) {
        String name = release.getFileName().toString().replace("/", "");
        return name.charAt(name.length() - 1);
    }

    static String packageOf(String name) {
        return name.substring(0, Math.max(name.lastIndexOf('/'), 0));
    }

    /** Reads the classes below a folder. */
    static void read(Path folder, Predicate<String> isExported) throws IOException {
        if (!Files.isDirectory(folder)) {
            return;
        }
        try (var files = Files.walk(folder)) {
            for (Path file : (Iterable<Path>) files::iterator) {
                String name = file.getFileName() == null ? "" : file.getFileName().toString();
                if (name.endsWith(".class") || name.endsWith(".sig")) {
                    add(ClassFile.of().parse(Files.readAllBytes(file)), isExported);
                }
            }
        }
    }

    static void add(ClassModel read, Predicate<String> isExported) {
        String name = read.thisClass().asInternalName();
        if (name.endsWith("-info") || name.matches(".*\\$\\d.*")) {
            return;
        }
        boolean isKnown = types.containsKey(name);
        Type type = types.computeIfAbsent(name, n -> new Type());
        type.isPublic |= read.flags().has(AccessFlag.PUBLIC) && isExported.test(name);
        for (var method : read.methods()) {
            if (method.flags().has(AccessFlag.PROTECTED) && !method.methodName().stringValue().startsWith("<")) {
                type.hidden.add(method.methodName().stringValue());
            }
        }
        if (!isKnown) {
            read.superclass().ifPresent(above -> type.above.add(above.asInternalName()));
            read.interfaces().forEach(above -> type.above.add(above.asInternalName()));
        }
    }

    static void write() {
        // What is not public counts where it lies above what is.
        Set<String> wanted = new HashSet<>();
        List<String> open = new ArrayList<>();
        types.forEach((name, type) -> {
            if (type.isPublic && !name.matches("android/(R|Manifest)(\\$.*)?")) {
                open.add(name);
            }
        });
        while (!open.isEmpty()) {
            String name = open.removeLast();
            if (types.containsKey(name) && wanted.add(name)) {
                open.addAll(types.get(name).above);
            }
        }
        // The file is the same wherever it is written.
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        String last = "";
        List<Map.Entry<String, Type>> all = new ArrayList<>(types.entrySet());
        all.removeIf(entry -> !wanted.contains(entry.getKey()));
        // A package's types stand together.
        all.sort(Comparator.comparing((Map.Entry<String, Type> entry) -> packageOf(entry.getKey())).thenComparing(Map.Entry::getKey));
        for (var entry : all) {
            String inside = packageOf(entry.getKey());
            if (!inside.equals(last)) {
                out.print("= " + inside + "\n");
                last = inside;
            }
            StringBuilder line = new StringBuilder(simple(entry.getKey(), inside));
            List<String> above = entry.getValue().above;
            if (!above.equals(List.of("java/lang/Object"))) {
                above.forEach(one -> line.append(' ').append(one.equals("java/lang/Object") ? "/" : simple(one, inside)));
            }
            entry.getValue().hidden.forEach(method -> line.append(" -").append(method));
            out.print(line + "\n");
        }
        out.flush();
    }

    /** Without the package of the line, which is that of most names. */
    static String simple(String name, String inside) {
        return packageOf(name).equals(inside) ? name.substring(inside.length() + 1) : name;
    }
}
