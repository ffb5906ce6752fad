import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.apache.felix.framework.FrameworkFactory;
import org.osgi.framework.Bundle;

/** Installs the bundles of a folder in Felix, and runs the main class of one of them. */
public class Framework {
    public static void main(String[] args) throws Exception {
        Map<String, String> settings = new HashMap<>();
        settings.put("org.osgi.framework.storage", args[1]);
        org.osgi.framework.launch.Framework framework = new FrameworkFactory().newFramework(settings);
        framework.start();
        Bundle main = null;
        try (DirectoryStream<Path> jars = Files.newDirectoryStream(Path.of(args[0]), "*.jar")) {
            for (Path jar : jars) {
                Bundle bundle = framework.getBundleContext().installBundle(jar.toUri().toString());
                main = "shop.main".equals(bundle.getSymbolicName()) ? bundle : main;
            }
        }
        main.loadClass("shop.Main").getMethod("main", String[].class).invoke(null, (Object) new String[0]);
        System.exit(0);
    }
}
