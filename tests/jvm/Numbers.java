import java.io.*;
import java.lang.reflect.Method;
import java.nio.file.*;
import java.net.URI;
import java.util.*;
import java.util.stream.Stream;

/** Writes the classes of the JDK whose objects can be written, and the number that each has by what it declares. */
public class Numbers {
    public static void main(String[] args) throws Exception {
        Method number = ObjectStreamClass.class.getDeclaredMethod("computeDefaultSUID", Class.class);
        number.setAccessible(true);
        Path out = Path.of(args[0]);
        Path modules = FileSystems.getFileSystem(URI.create("jrt:/")).getPath("/modules");
        int written = 0;
        for (String module : new String[] { "java.base", "java.sql", "java.xml", "java.management", "java.naming" }) {
            Path root = modules.resolve(module);
            List<Path> files;
            try (Stream<Path> all = Files.walk(root)) {
                files = all.filter(file -> file.toString().endsWith(".class")).sorted().toList();
            }
            for (Path file : files) {
                String name = root.relativize(file).toString().replace('/', '.').replaceAll("\\.class$", "");
                // Reflection shows nothing of `Class`.
                if (name.endsWith("-info") || name.equals("java.lang.Class"))
                    continue;
                Class<?> type;
                try {
                    type = Class.forName(name, false, null);
                } catch (ClassNotFoundException | LinkageError e) {
                    continue;
                }
                if (!Serializable.class.isAssignableFrom(type))
                    continue;
                Object computed;
                try {
                    // This initialises the class.
                    computed = number.invoke(null, type);
                } catch (java.lang.reflect.InvocationTargetException e) {
                    continue;
                }
                Files.write(out.resolve(written++ + ".class"), Files.readAllBytes(file));
                System.out.println(computed + " " + name);
            }
        }
    }
}
