import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.jar.JarOutputStream;
import net.bytebuddy.ByteBuddy;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.asm.AsmVisitorWrapper;
import net.bytebuddy.description.type.TypeDescription;
import net.bytebuddy.dynamic.ClassFileLocator;
import net.bytebuddy.jar.asm.ClassReader;
import net.bytebuddy.matcher.ElementMatchers;
import net.bytebuddy.pool.TypePool;

/**
 * {@code Advised COPIED|KEPT IN.jar OUT.jar}: puts advice into every method and constructor of a jar, as an agent would, with
 * the arguments copied before the method runs or left where they are. Prints what Byte Buddy refuses.
 */
public final class Advised {
    public static class Copied {
        @Advice.OnMethodEnter
        static long enter() {
            return System.nanoTime();
        }

        @Advice.OnMethodExit(onThrowable = Throwable.class)
        static void exit(@Advice.Enter long start, @Advice.AllArguments Object[] arguments) {
            if (start == arguments.length) {
                System.out.println(start);
            }
        }
    }

    public static class Kept {
        @Advice.OnMethodEnter
        static long enter() {
            return System.nanoTime();
        }

        @Advice.OnMethodExit(backupArguments = false)
        static void exit(@Advice.Enter long start, @Advice.AllArguments Object[] arguments) {
            if (start == arguments.length) {
                System.out.println(start);
            }
        }
    }

    public static void main(String[] args) throws Exception {
        boolean kept = args[0].equals("KEPT");
        AsmVisitorWrapper.ForDeclaredMethods advice = kept
            ? Advice.to(Kept.class).on(ElementMatchers.isMethod().or(ElementMatchers.isConstructor()))
            : Advice.to(Copied.class).on(ElementMatchers.isMethod());
        AtomicInteger done = new AtomicInteger();
        int refused = 0;
        try (JarFile in = new JarFile(args[1]);
            OutputStream file = Files.newOutputStream(Path.of(args[2]));
            JarOutputStream out = new JarOutputStream(file)) {
            ClassFileLocator locator = new ClassFileLocator.Compound(
                new ClassFileLocator.ForJarFile(in), ClassFileLocator.ForClassLoader.ofSystemLoader());
            TypePool pool = TypePool.Default.of(locator);
            for (JarEntry entry : Collections.list(in.entries())) {
                String name = entry.getName();
                if (!name.endsWith(".class") || name.startsWith("META-INF/") || name.startsWith("weave/") || name.startsWith("acme/") || name.equals("module-info.class")) {
                    continue;
                }
                byte[] bytes = in.getInputStream(entry).readAllBytes();
                try {
                    TypeDescription type = pool.describe(name.substring(0, name.length() - 6).replace('/', '.')).resolve();
                    bytes = new ByteBuddy().redefine(type, locator).visit(advice.readerFlags(done.get() % 2 == 0 ? 0 : ClassReader.EXPAND_FRAMES)).make().getBytes();
                    done.incrementAndGet();
                } catch (RuntimeException e) {
                    refused++;
                    System.out.println("refused " + name + ": " + e.getMessage());
                }
                out.putNextEntry(new JarEntry(name));
                out.write(bytes);
                out.closeEntry();
            }
        }
        System.out.println("advised " + done + " refused " + refused);
    }
}
