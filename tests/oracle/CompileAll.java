import java.io.File;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Modifier;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import jdk.test.whitebox.WhiteBox;

/**
 * Has HotSpot compile all methods of a jar's first classes, without calling any.
 *
 * <pre>
 * java -XX:+UnlockDiagnosticVMOptions -XX:+WhiteBoxAPI -Xbootclasspath/a:BOOT -XX:-BackgroundCompilation
 *      -XX:-DontCompileHugeMethods CompileAll LEVEL CLASSES JAR
 * </pre>
 *
 * The level is HotSpot's: 1 to 3 are C1, 4 is C2. Printed, a line each, are the methods that the compiler refuses, and as
 * last line {@code compiled N of M}. Classes that lack others are left out.
 */
public final class CompileAll {
    public static void main(String[] args) throws Exception {
        WhiteBox box = new WhiteBox();
        int level = Integer.parseInt(args[0]), compiled = 0, all = 0;
        List<String> names = new ArrayList<>();
        try (ZipFile jar = new ZipFile(args[2])) {
            for (ZipEntry entry : Collections.list(jar.entries())) {
                String name = entry.getName();
                if (name.endsWith(".class") && !name.startsWith("META-INF/") && !name.endsWith("-info.class")) {
                    names.add(name.substring(0, name.length() - ".class".length()).replace('/', '.'));
                }
            }
        }
        URL[] urls = {new File(args[2]).toURI().toURL()};
        try (URLClassLoader loader = new URLClassLoader(urls, ClassLoader.getPlatformClassLoader())) {
            for (String name : names.subList(0, Math.min(names.size(), Integer.parseInt(args[1])))) {
                List<Executable> methods = new ArrayList<>();
                try {
                    Class<?> type = Class.forName(name, false, loader);
                    Collections.addAll(methods, type.getDeclaredMethods());
                    Collections.addAll(methods, type.getDeclaredConstructors());
                } catch (LinkageError lacksOthers) {
                    continue;
                }
                for (Executable method : methods) {
                    if (Modifier.isAbstract(method.getModifiers()) || Modifier.isNative(method.getModifiers())) {
                        continue;
                    }
                    try {
                        boolean is = box.compiles(method, level);
                        all++;
                        compiled += is ? 1 : 0;
                        if (!is) {
                            System.out.println(name + (method instanceof Constructor ? "" : "." + method.getName()));
                        }
                    } catch (LinkageError lacksOthers) {
                        break; // its initialiser runs
                    }
                }
            }
        }
        System.out.println("compiled " + compiled + " of " + all);
    }
}
