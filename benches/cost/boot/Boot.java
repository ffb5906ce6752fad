package boot;

import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.web.context.WebServerInitializedEvent;
import org.springframework.context.event.EventListener;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;

/** A web application of Spring Boot. It prints its port; `/cpu` tells the CPU time of its process, in milliseconds. */
@SpringBootApplication
@RestController
public class Boot {
    record Item(int id, String name, double price) {}

    public static void main(String[] args) {
        SpringApplication.run(Boot.class, args);
    }

    @EventListener
    public void started(WebServerInitializedEvent event) {
        System.out.println(event.getWebServer().getPort());
    }

    @GetMapping("/items/{kind}")
    public List<Item> items(@PathVariable int kind) {
        List<Item> items = new ArrayList<>();
        for (int id = kind; id < 500; id += 50) {
            items.add(new Item(id, "item " + id, id * 1.5));
        }
        return items;
    }

    @GetMapping("/cpu")
    public long cpu() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime() / 1_000_000;
    }
}
