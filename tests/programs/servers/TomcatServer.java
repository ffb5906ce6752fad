package servers;

import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.concurrent.Executors;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;

/** Tomcat, a virtual thread for each request. */
public final class TomcatServer {
    public static void main(String[] args) throws Exception {
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(args[0]);
        tomcat.setHostname("127.0.0.1");
        tomcat.setPort(0);
        tomcat.getConnector().setProperty("address", "127.0.0.1");
        tomcat.getConnector().setProperty("acceptCount", "2000");
        tomcat.getConnector().setProperty("connectionTimeout", "600000");
        tomcat.getConnector().setProperty("maxKeepAliveRequests", "-1");
        tomcat.getConnector().getProtocolHandler().setExecutor(Executors.newVirtualThreadPerTaskExecutor());
        Context context = tomcat.addContext("", null);
        Tomcat.addServlet(context, "work", new HttpServlet() {
            @Override
            protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
                try {
                    response.setHeader("Server-Thread", Thread.currentThread().isVirtual() ? "virtual" : "platform");
                    response.getWriter().write(Work.late(Integer.parseInt(request.getRequestURI().substring(1))));
                } catch (InterruptedException interrupted) {
                    throw new IOException(interrupted);
                }
            }
        });
        context.addServletMappingDecoded("/", "work");
        tomcat.start();
        System.out.println(tomcat.getConnector().getLocalPort());
        tomcat.getServer().await();
    }
}
