package stock;

import java.io.IOException;
import java.io.InputStream;
import java.util.function.Consumer;
import org.hibernate.bytecode.enhance.spi.DefaultEnhancementContext;
import org.hibernate.bytecode.enhance.spi.Enhancer;
import org.hibernate.bytecode.enhance.spi.UnloadedField;
import org.hibernate.bytecode.internal.BytecodeProviderInitiator;

/**
 * {@code Main proxies|enhanced find|query}: the entities as they are, or as Hibernate's enhancer makes them when they are loaded;
 * without queries, whose parser makes 80 million calls, or with them.
 */
public final class Main {
    private static final class Enhancing extends ClassLoader {
        private final Enhancer enhancer = BytecodeProviderInitiator.buildDefaultBytecodeProvider().getEnhancer(new DefaultEnhancementContext() {
            @Override
            public boolean isLazyLoadable(UnloadedField field) {
                return true;
            }

            @Override
            public ClassLoader getLoadingClassLoader() {
                return Main.class.getClassLoader();
            }
        });

        Enhancing() {
            super(Main.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.startsWith("stock.")) {
                return super.loadClass(name, resolve);
            }
            synchronized (getClassLoadingLock(name)) {
                Class<?> known = findLoadedClass(name);
                return known != null ? known : findClass(name);
            }
        }

        @Override
        protected Class<?> findClass(String name) throws ClassNotFoundException {
            try (InputStream in = getResourceAsStream(name.replace('.', '/') + ".class")) {
                if (in == null) {
                    throw new ClassNotFoundException(name);
                }
                byte[] bytes = in.readAllBytes();
                byte[] enhanced = enhancer.enhance(name, bytes);
                System.out.println(name + (enhanced == null ? "" : " enhanced"));
                byte[] chosen = enhanced == null ? bytes : enhanced;
                return defineClass(name, chosen, 0, chosen.length);
            } catch (IOException broken) {
                throw new ClassNotFoundException(name, broken);
            }
        }
    }

    public static void main(String[] args) throws ReflectiveOperationException {
        ClassLoader loader = args[0].equals("enhanced") ? new Enhancing() : Main.class.getClassLoader();
        Thread.currentThread().setContextClassLoader(loader);
        @SuppressWarnings("unchecked")
        Consumer<String> stock = (Consumer<String>) loader.loadClass("stock.Stock").getDeclaredConstructor().newInstance();
        stock.accept(args[1]);
    }
}
