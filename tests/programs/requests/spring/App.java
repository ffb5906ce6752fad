package shop;

import jakarta.servlet.AsyncContext;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.web.context.WebServerInitializedEvent;
import org.springframework.context.event.EventListener;
import org.springframework.http.ResponseEntity;
import org.springframework.http.client.SimpleClientHttpRequestFactory;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.client.RestClient;
import org.springframework.web.client.RestTemplate;
import org.springframework.web.context.request.async.DeferredResult;

/** A shop of two processes: one takes orders, and asks the other for prices. */
@SpringBootApplication
@RestController
public class App {
    private static final String DATABASE = "jdbc:h2:mem:shop;DB_CLOSE_DELAY=-1";
    private final ExecutorService pool = Executors.newFixedThreadPool(2);
    private final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final String prices = System.getProperty("prices", "");

    public static void main(String[] args) throws SQLException {
        SpringApplication.run(App.class, args);
    }

    @EventListener
    public void started(WebServerInitializedEvent event) throws SQLException {
        try (Connection connection = DriverManager.getConnection(DATABASE); Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE orders (id INT, item VARCHAR(20))");
            statement.execute("INSERT INTO orders VALUES (7, 'geheim')");
        }
        System.out.println(event.getWebServer().getPort());
    }

    private static String item(int id) {
        try (Connection connection = DriverManager.getConnection(DATABASE);
            PreparedStatement statement = connection.prepareStatement("SELECT item FROM orders WHERE id = ? AND item <> 'geheimer'")) {
            statement.setInt(1, id);
            try (ResultSet found = statement.executeQuery()) {
                return found.next() ? found.getString(1) : "nothing";
            }
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    @GetMapping("/orders/{id}")
    public String order(@PathVariable int id) throws Exception {
        return item(id) + " for " + price(id);
    }

    private String price(int id) throws Exception {
        URI uri = URI.create(prices + "/price/" + id + "?token=geheim");
        return client.send(HttpRequest.newBuilder(uri).build(), HttpResponse.BodyHandlers.ofString()).body();
    }

    @GetMapping("/price/{id}")
    public String price(@PathVariable int id, @RequestParam String token) {
        return id * 7 + " of " + item(id);
    }

    @GetMapping("/later/{id}")
    public CompletableFuture<String> later(@PathVariable int id) {
        URI uri = URI.create(prices + "/price/" + id + "?token=geheim");
        return client.sendAsync(HttpRequest.newBuilder(uri).build(), HttpResponse.BodyHandlers.ofString()).thenApply(HttpResponse::body);
    }

    @GetMapping("/refused/{id}")
    public String refused(@PathVariable int id) {
        URI uri = URI.create("http://127.0.0.1:1/" + id);
        return client.sendAsync(HttpRequest.newBuilder(uri).build(), HttpResponse.BodyHandlers.ofString())
            .handle((answer, failed) -> failed == null ? "answered" : "refused").join();
    }

    @GetMapping("/rest/{id}")
    public String rest(@PathVariable int id) {
        return RestClient.create().get().uri(prices + "/price/{id}?token=geheim", id).retrieve().body(String.class);
    }

    @GetMapping("/template/{id}")
    public String template(@PathVariable int id) {
        return new RestTemplate(new SimpleClientHttpRequestFactory()).getForObject(prices + "/price/{id}?token=geheim", String.class, id);
    }

    @GetMapping("/apache5/{id}")
    public String apache5(@PathVariable int id) throws Exception {
        try (var client = org.apache.hc.client5.http.impl.classic.HttpClients.createDefault()) {
            return client.execute(new org.apache.hc.client5.http.classic.methods.HttpGet(prices + "/price/" + id + "?token=geheim"),
                answer -> org.apache.hc.core5.http.io.entity.EntityUtils.toString(answer.getEntity()));
        }
    }

    @GetMapping("/apache4/{id}")
    public String apache4(@PathVariable int id) throws Exception {
        try (var client = org.apache.http.impl.client.HttpClients.createDefault();
            var answer = client.execute(new org.apache.http.client.methods.HttpGet(prices + "/price/" + id + "?token=geheim"))) {
            return org.apache.http.util.EntityUtils.toString(answer.getEntity());
        }
    }

    @GetMapping("/deferred/{id}")
    public DeferredResult<ResponseEntity<String>> deferred(@PathVariable int id) {
        DeferredResult<ResponseEntity<String>> later = new DeferredResult<>();
        pool.execute(() -> later.setResult(ResponseEntity.status(201).body(item(id))));
        return later;
    }

    @GetMapping("/callable/{id}")
    public Callable<String> callable(@PathVariable int id) {
        return () -> item(id);
    }

    @GetMapping("/broken/{id}")
    public CompletableFuture<String> broken(@PathVariable int id) {
        return CompletableFuture.supplyAsync(() -> {
            throw new IllegalStateException("no order " + item(id));
        }, pool);
    }

    @GetMapping("/async/{id}")
    public void async(@PathVariable int id, HttpServletRequest request, HttpServletResponse response) {
        AsyncContext context = request.startAsync();
        pool.execute(() -> {
            try {
                response.setStatus(202);
                response.getWriter().print(item(id));
            } catch (IOException e) {
                throw new IllegalStateException(e);
            } finally {
                context.complete();
            }
        });
    }

    @GetMapping("/pool/{id}")
    public String pool(@PathVariable int id) throws Exception {
        return pool.submit(() -> item(id)).get();
    }

    @GetMapping("/future/{id}")
    public String future(@PathVariable int id) throws Exception {
        return CompletableFuture.supplyAsync(() -> item(id), pool).thenApplyAsync(found -> found + item(id), pool).get();
    }

    @GetMapping("/thread/{id}")
    public String thread(@PathVariable int id) throws Exception {
        String[] found = new String[1];
        Thread thread = new Thread(() -> found[0] = item(id));
        thread.start();
        thread.join();
        return found[0];
    }

    @GetMapping("/many/{id}")
    public String many(@PathVariable int id) {
        String found = "";
        for (int i = 0; i < 6; i++) {
            found = item(i);
        }
        return found;
    }

    @GetMapping("/fail/{id}")
    public String fail(@PathVariable int id) {
        throw new IllegalStateException("no order " + id);
    }
}
