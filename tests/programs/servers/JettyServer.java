package servers;

import java.util.concurrent.Executors;
import org.eclipse.jetty.io.Content;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.thread.QueuedThreadPool;

/** Jetty, a virtual thread for each request. */
public final class JettyServer {
    public static void main(String[] args) throws Exception {
        QueuedThreadPool pool = new QueuedThreadPool();
        pool.setVirtualThreadsExecutor(Executors.newVirtualThreadPerTaskExecutor());
        Server server = new Server(pool);
        ServerConnector connector = new ServerConnector(server);
        connector.setHost("127.0.0.1");
        connector.setAcceptQueueSize(2000);
        connector.setIdleTimeout(600_000);
        server.addConnector(connector);
        server.setHandler(new Handler.Abstract() {
            @Override
            public boolean handle(Request request, Response response, Callback callback) throws Exception {
                String number = request.getHttpURI().getPath().substring(1);
                response.getHeaders().put("Server-Thread", Thread.currentThread().isVirtual() ? "virtual" : "platform");
                Content.Sink.write(response, true, Work.late(Integer.parseInt(number)), callback);
                return true;
            }
        });
        server.start();
        System.out.println(connector.getLocalPort());
        server.join();
    }
}
