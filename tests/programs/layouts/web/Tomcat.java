import java.io.File;
import java.nio.file.Files;

/** Serves a web application, packed or exploded, by Tomcat's own class loader. */
public class Tomcat {
    public static void main(String[] args) throws Exception {
        org.apache.catalina.startup.Tomcat tomcat = new org.apache.catalina.startup.Tomcat();
        tomcat.setBaseDir(Files.createTempDirectory(new File(args[1]).toPath(), "base").toString());
        tomcat.setPort(0);
        new File(tomcat.getServer().getCatalinaBase(), "webapps").mkdirs();
        tomcat.addWebapp("", new File(args[0]).getAbsolutePath());
        tomcat.start();
        System.out.println("port " + tomcat.getConnector().getLocalPort());
        tomcat.getServer().await();
    }
}
