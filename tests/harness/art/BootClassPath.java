import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Deque;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import org.jf.dexlib2.Opcode;
import org.jf.dexlib2.Opcodes;
import org.jf.dexlib2.iface.value.EncodedValue;
import org.jf.dexlib2.immutable.ImmutableClassDef;
import org.jf.dexlib2.immutable.ImmutableField;
import org.jf.dexlib2.immutable.ImmutableMethod;
import org.jf.dexlib2.immutable.ImmutableMethodImplementation;
import org.jf.dexlib2.immutable.ImmutableMethodParameter;
import org.jf.dexlib2.immutable.instruction.ImmutableInstruction11n;
import org.jf.dexlib2.immutable.instruction.ImmutableInstruction11x;
import org.jf.dexlib2.writer.io.FileDataStore;
import org.jf.dexlib2.writer.pool.DexPool;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.FieldNode;
import org.objectweb.asm.tree.MethodNode;

/**
 * Writes a boot class path for the verifier: what Android's classes and the JDK's (as of Java 8) declare, without code.
 * Code throws null. Classes that ART mirrors get the fields and methods that it counts on.
 *
 * <p>BootClassPath android-all.jar mirrors.txt OUT_FOLDER
 */
public final class BootClassPath {
    private static final int PUBLIC = 1, PRIVATE = 2, STATIC = 8, FINAL = 16, SUPER = 0x20, NATIVE = 0x100,
            INTERFACE = 0x200, ABSTRACT = 0x400, STRICT = 0x800, DECLARED_SYNCHRONIZED = 0x20000, CONSTRUCTOR = 0x10000;
    private static final String OBJECT = "java/lang/Object";

    private final TreeMap<String, ClassNode> classes = new TreeMap<>();

    public static void main(String[] args) throws IOException {
        BootClassPath path = new BootClassPath();
        path.readAndroid(args[0]);
        path.readJava();
        path.close();
        path.mirror(Files.readAllLines(Path.of(args[1])));
        path.serveStrings();
        path.write(new File(args[2]));
    }

    private void add(InputStream in) throws IOException {
        ClassNode node = new ClassNode();
        new ClassReader(in).accept(node, ClassReader.SKIP_CODE | ClassReader.SKIP_DEBUG | ClassReader.SKIP_FRAMES);
        node.methods.removeIf(m -> m.name.equals("<clinit>"));
        classes.putIfAbsent(node.name, node);
    }

    private void readAndroid(String jar) throws IOException {
        try (JarFile file = new JarFile(jar)) {
            for (JarEntry entry : Collections.list(file.entries())) {
                String name = entry.getName();
                boolean ours = name.startsWith("META-INF/") || name.startsWith("org/robolectric/");
                if (name.endsWith(".class") && !name.endsWith("module-info.class") && !ours) {
                    try (InputStream in = file.getInputStream(entry)) {
                        add(in);
                    }
                }
            }
        }
    }

    /** What Android has of the JDK is much like Java 8, whose declarations javac keeps for {@code --release 8}. */
    private void readJava() throws IOException {
        try (ZipFile file = new ZipFile(Path.of(System.getProperty("java.home"), "lib", "ct.sym").toFile())) {
            for (ZipEntry entry : Collections.list(file.entries())) {
                String name = entry.getName();
                boolean of8 = name.substring(0, name.indexOf('/')).contains("8");
                if (of8 && name.endsWith(".sig") && !name.endsWith("module-info.sig")) {
                    try (InputStream in = file.getInputStream(entry)) {
                        add(in);
                    }
                }
            }
        }
    }

    /** What nobody declares is extended by no class. */
    private void close() {
        for (ClassNode node : classes.values()) {
            node.interfaces.removeIf(name -> !classes.containsKey(name));
            if (!node.name.equals(OBJECT) && !classes.containsKey(node.superName)) {
                node.superName = OBJECT;
            }
        }
    }

    private void mirror(List<String> lines) {
        ClassNode node = null;
        Map<ClassNode, Integer> virtuals = new LinkedHashMap<>();
        for (String line : lines) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "class" -> {
                    String name = words[1];
                    List<String> options = List.of(words);
                    int parent = options.indexOf("extends");
                    node = classes.computeIfAbsent(name, n -> {
                        ClassNode made = new ClassNode();
                        made.name = n;
                        made.access = PUBLIC;
                        made.superName = parent < 0 ? OBJECT : words[parent + 1];
                        return made;
                    });
                    boolean statics = options.contains("statics");
                    node.fields.removeIf(f -> statics || (f.access & STATIC) == 0);
                    if (options.contains("virtuals")) {
                        virtuals.put(node, Integer.parseInt(words[options.indexOf("virtuals") + 1]));
                    }
                }
                case "field" -> node.fields.add(new FieldNode(PRIVATE, words[1], words[2], null, null));
                case "static" -> node.fields.add(new FieldNode(PUBLIC | STATIC | FINAL, words[1], words[2], null, null));
                default -> { }
            }
        }
        method(classes.get("java/lang/ref/Reference"), PRIVATE | FINAL | NATIVE, "getReferent", "()Ljava/lang/Object;");
        virtuals.forEach(this::pad);
    }

    private static void method(ClassNode node, int access, String name, String descriptor) {
        if (node.methods.stream().noneMatch(m -> m.name.equals(name) && m.desc.equals(descriptor))) {
            node.methods.add(new MethodNode(access, name, descriptor, null, null));
        }
    }

    private static void virtuals(ClassNode node, boolean defaults, Set<String> all) {
        for (MethodNode m : node.methods) {
            boolean counts = (m.access & (STATIC | PRIVATE)) == 0 && !m.name.startsWith("<");
            if (counts && !(defaults && (m.access & ABSTRACT) != 0)) {
                all.add(m.name + m.desc);
            }
        }
    }

    /** Gives a class as many virtual methods of its own, or by default of its interfaces, as ART expects. */
    private void pad(ClassNode node, int wanted) {
        Set<String> own = new HashSet<>(), inherited = new HashSet<>(), seen = new HashSet<>();
        virtuals(node, false, own);
        Deque<String> interfaces = new ArrayDeque<>(node.interfaces);
        while (!interfaces.isEmpty()) {
            String name = interfaces.poll();
            if (seen.add(name)) {
                virtuals(classes.get(name), true, own);
                interfaces.addAll(classes.get(name).interfaces);
            }
        }
        if (!node.name.equals(OBJECT)) {
            virtuals(classes.get(OBJECT), false, inherited);
        }
        own.removeAll(inherited);
        if (own.size() > wanted) {
            throw new IllegalStateException(node.name + ": " + own.size() + " virtual methods, ART expects " + wanted);
        }
        for (int i = own.size(); i < wanted; i++) {
            method(node, FINAL, "weave$pad" + i, "()V");
        }
    }

    /** ART maps each factory of strings to the constructor that it stands for. */
    private void serveStrings() {
        String string = ")Ljava/lang/String;";
        for (MethodNode m : classes.get("java/lang/StringFactory").methods) {
            if ((m.access & STATIC) != 0 && m.desc.endsWith(string)) {
                String descriptor = m.desc.substring(0, m.desc.length() - string.length()) + ")V";
                method(classes.get("java/lang/String"), 0, "<init>", descriptor);
            }
        }
    }

    private static ImmutableClassDef dex(ClassNode node) {
        String type = "L" + node.name + ";";
        List<ImmutableField> fields = new ArrayList<>();
        for (FieldNode f : node.fields) {
            fields.add(new ImmutableField(type, f.name, f.desc, f.access & 0xffff, (EncodedValue) null, null, (Set) null));
        }
        List<ImmutableMethod> methods = new ArrayList<>();
        for (MethodNode m : node.methods) {
            int access = m.access & 0xffff & ~STRICT;
            if ((access & 0x20) != 0 && (access & NATIVE) == 0) {
                access = access & ~0x20 | DECLARED_SYNCHRONIZED;
            }
            if (m.name.equals("<init>")) {
                access |= CONSTRUCTOR;
            }
            List<ImmutableMethodParameter> parameters = new ArrayList<>();
            int words = (access & STATIC) != 0 ? 0 : 1;
            for (Type t : Type.getArgumentTypes(m.desc)) {
                parameters.add(new ImmutableMethodParameter(t.getDescriptor(), null, null));
                words += t.getSize();
            }
            ImmutableMethodImplementation code = (access & (NATIVE | ABSTRACT)) != 0 ? null
                    : new ImmutableMethodImplementation(words + 1, List.of(
                            new ImmutableInstruction11n(Opcode.CONST_4, 0, 0),
                            new ImmutableInstruction11x(Opcode.THROW, 0)), null, (Iterable) null);
            String returns = Type.getReturnType(m.desc).getDescriptor();
            methods.add(new ImmutableMethod(type, m.name, parameters, returns, access, null, (Set) null, code));
        }
        Collection<String> interfaces = node.interfaces.stream().map(name -> "L" + name + ";").toList();
        String superclass = node.name.equals(OBJECT) ? null : "L" + node.superName + ";";
        int access = node.access & 0xffff & ~SUPER;
        return new ImmutableClassDef(type, access, superclass, interfaces, null, null, fields, methods);
    }

    private void write(File folder) throws IOException {
        Iterator<ClassNode> rest = classes.values().iterator();
        ClassNode next = rest.next();
        for (int number = 1; next != null; number++) {
            DexPool pool = new DexPool(Opcodes.forApi(28));
            while (next != null) {
                pool.mark();
                pool.internClass(dex(next));
                if (pool.hasOverflowed()) {
                    pool.reset();
                    break;
                }
                next = rest.hasNext() ? rest.next() : null;
            }
            pool.writeTo(new FileDataStore(new File(folder, "boot" + number + ".dex")));
        }
        System.out.println(classes.size() + " classes");
    }
}
