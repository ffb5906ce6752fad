import java.nio.file.Paths;
import org.pf4j.DefaultPluginManager;
import org.pf4j.PluginWrapper;

/** Starts all plug-ins of a folder. */
public class Host {
    public static void main(String[] args) {
        DefaultPluginManager manager = new DefaultPluginManager(Paths.get(args[0]));
        manager.loadPlugins();
        manager.startPlugins();
        for (PluginWrapper plugin : manager.getPlugins()) {
            System.out.println(plugin.getPluginId() + " " + plugin.getPluginState());
        }
        manager.stopPlugins();
    }
}
