import java.nio.file.Paths;
import org.pf4j.DefaultPluginManager;
import org.pf4j.PluginWrapper;

/** Starts all plug-ins of a folder. */
public class Host {
    public static void main(String[] args) throws InterruptedException {
        DefaultPluginManager manager = new DefaultPluginManager(Paths.get(args[0]));
        manager.loadPlugins();
        manager.startPlugins();
        for (PluginWrapper plugin : manager.getPlugins()) {
            System.out.println(plugin.getPluginId() + " " + plugin.getPluginState());
        }
        // A copy of the library in a plug-in's loader has no shutdown hook: a host that ends at once may end before the names are copied.
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            if (thread.getName().equals("weave-symbols")) {
                thread.join(60_000);
            }
        }
        manager.stopPlugins();
    }
}
