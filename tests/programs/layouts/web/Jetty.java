import java.io.File;
import org.eclipse.jetty.ee10.webapp.WebAppContext;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

/** Serves a web application by Jetty's own class loader. */
public class Jetty {
    public static void main(String[] args) throws Exception {
        Server server = new Server();
        ServerConnector connector = new ServerConnector(server);
        connector.setHost("127.0.0.1");
        server.addConnector(connector);
        WebAppContext app = new WebAppContext();
        app.setContextPath("/");
        app.setWar(new File(args[0]).getAbsolutePath());
        app.setTempDirectory(new File(args[1], "jetty"));
        server.setHandler(app);
        server.start();
        System.out.println("port " + connector.getLocalPort());
        server.join();
    }
}
