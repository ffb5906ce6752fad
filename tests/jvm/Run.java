import java.io.File;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.Arrays;

/** Runs {@code static int run(int)} of every class in a folder, prints what comes of it, then what the hooks saw. */
public final class Run {
    public static void main(String[] args) throws Exception {
        File folder = new File(args[0]);
        String[] files = folder.list();
        Arrays.sort(files);
        try (URLClassLoader loader = new URLClassLoader(new URL[] {folder.toURI().toURL()})) {
            for (String file : files) {
                if (!file.endsWith(".class")) {
                    continue; // adapters, which the loader finds
                }
                Class<?> c;
                Method run;
                try {
                    c = loader.loadClass(file.replace(".class", ""));
                    run = c.getMethod("run", int.class);
                } catch (LinkageError e) {
                    System.out.println(file + ": " + e);
                    continue;
                } catch (NoSuchMethodException nested) {
                    continue;
                }
                int calls = weave.runtime.Hooks.calls;
                StringBuilder line = new StringBuilder(c.getName());
                for (int i = 0; i < 4; i++) {
                    try {
                        line.append(' ').append(run.invoke(null, i));
                    } catch (InvocationTargetException e) {
                        line.append(' ').append(e.getCause());
                    }
                }
                System.out.println(line);
                System.err.println(c.getName() + ": " + (weave.runtime.Hooks.calls - calls) + " calls");
            }
        }
        System.err.println("own hooks: " + acme.All.begun());
        System.err.println("verdict: " + weave.runtime.Hooks.verdict() + acme.All.verdict());
    }
}
