package acme.hello;

import acme.util.Util;
import java.lang.reflect.Method;
import org.osgi.framework.BundleActivator;
import org.osgi.framework.BundleContext;

public class Activator implements BundleActivator {
    @Override
    public void start(final BundleContext context) throws Exception {
        Method name = Class.forName("acme.hello.extra.Extra").getMethod("name", int.class);
        System.out.println("squares " + Util.squares(5) + " " + name.invoke(null, 2));
        new Thread(() -> stop(context, 0)).start();
    }

    private static void stop(BundleContext context, long id) {
        try {
            // A copy of the library in a bundle has no shutdown hook: a host that ends at once may end before the names are copied.
            for (Thread thread : Thread.getAllStackTraces().keySet()) {
                if (thread.getName().equals("weave-symbols")) {
                    thread.join(60_000);
                }
            }
            context.getBundle(id).stop();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void stop(BundleContext context) {
        System.out.println("bye");
    }
}
