package acme.greeter;

import org.pf4j.Plugin;
import org.pf4j.PluginWrapper;

public class Greeter extends Plugin {
    public Greeter(PluginWrapper wrapper) {
        super(wrapper);
    }

    @Override
    public void start() {
        System.out.println("hello " + count(4));
    }

    static int count(int n) {
        return n == 0 ? 0 : 1 + count(n - 1);
    }

    @Override
    public void stop() {
        System.out.println("bye");
    }
}
