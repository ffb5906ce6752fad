package shop;

import org.springframework.boot.ApplicationRunner;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.Environment;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;

@SpringBootApplication
@RestController
public class App {
    @GetMapping("/order/{n}")
    public String order(@PathVariable("n") int n) {
        return "ordered " + new Stock(n).twice();
    }

    @Bean
    ApplicationRunner tellPort(Environment environment) {
        return args -> System.out.println("port " + environment.getProperty("local.server.port"));
    }

    public static void main(String[] args) {
        SpringApplication.run(App.class, args);
    }
}
