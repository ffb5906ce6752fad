import java.io.File;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import org.osgi.framework.Bundle;
import org.osgi.framework.Constants;
import org.osgi.framework.launch.Framework;
import org.osgi.framework.launch.FrameworkFactory;

/** Starts the framework of the class path with all bundles of a folder. */
public class Launcher {
    public static void main(String[] args) throws Exception {
        Map<String, String> settings = new HashMap<>();
        settings.put(Constants.FRAMEWORK_STORAGE, args[1]);
        settings.put(Constants.FRAMEWORK_STORAGE_CLEAN, Constants.FRAMEWORK_STORAGE_CLEAN_ONFIRSTINIT);
        for (int i = 2; i < args.length; i++) {
            String[] setting = args[i].split("=", 2);
            settings.put(setting[0], setting[1]);
        }
        Framework framework = ServiceLoader.load(FrameworkFactory.class).iterator().next().newFramework(settings);
        framework.start();
        File[] files = new File(args[0]).listFiles((folder, name) -> name.endsWith(".jar"));
        Arrays.sort(files);
        List<Bundle> bundles = new ArrayList<>();
        for (File file : files) {
            bundles.add(framework.getBundleContext().installBundle(file.toURI().toString()));
        }
        for (Bundle bundle : bundles) {
            if (bundle.getHeaders().get(Constants.FRAGMENT_HOST) == null) {
                bundle.start();
            }
        }
        framework.waitForStop(60_000);
        System.exit(0);
    }
}
