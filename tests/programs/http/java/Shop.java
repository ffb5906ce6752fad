import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.concurrent.CountDownLatch;
import okhttp3.Call;
import okhttp3.Callback;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.Response;

/** Requests by four clients; each path is one's own. */
public class Shop {
    static String at(String path) {
        return base + path + "?token=s3cret";
    }

    static String base;

    public static void main(String[] args) throws Exception {
        base = "http://127.0.0.1:" + args[0];
        java();
        okhttp();
        apache4(Integer.parseInt(args[0]));
        apache5(Integer.parseInt(args[0]));
    }

    static void java() throws Exception {
        HttpClient client = HttpClient.newHttpClient();
        HttpRequest get = HttpRequest.newBuilder(URI.create(at("/java"))).build();
        for (int i = 0; i < 3; i++) {
            System.out.println(client.send(get, HttpResponse.BodyHandlers.ofString()).body());
        }
        HttpRequest post = HttpRequest.newBuilder(URI.create(at("/missing"))).POST(HttpRequest.BodyPublishers.ofString("x")).build();
        System.out.println(client.send(post, HttpResponse.BodyHandlers.ofString()).statusCode());
        System.out.println(client.sendAsync(get, HttpResponse.BodyHandlers.ofString()).join().body());
        try {
            client.send(HttpRequest.newBuilder(URI.create("http://127.0.0.1:1/refused")).build(), HttpResponse.BodyHandlers.ofString());
        } catch (java.io.IOException e) {
            System.out.println("refused");
        }
    }

    static void okhttp() throws Exception {
        OkHttpClient client = new OkHttpClient();
        Request request = new Request.Builder().url(at("/okhttp")).build();
        for (int i = 0; i < 2; i++) {
            try (Response response = client.newCall(request).execute()) {
                System.out.println(response.code() + " " + response.body().string());
            }
        }
        CountDownLatch over = new CountDownLatch(1);
        client.newCall(request).enqueue(new Callback() {
            @Override
            public void onFailure(Call call, java.io.IOException e) {
                e.printStackTrace();
                over.countDown();
            }

            @Override
            public void onResponse(Call call, Response response) {
                response.close();
                System.out.println("later " + response.code());
                over.countDown();
            }
        });
        over.await();
        client.dispatcher().executorService().shutdown();
        client.connectionPool().evictAll();
    }

    static void apache4(int port) throws Exception {
        try (org.apache.http.impl.client.CloseableHttpClient client = org.apache.http.impl.client.HttpClients.createDefault()) {
            try (org.apache.http.client.methods.CloseableHttpResponse response =
                    client.execute(new org.apache.http.client.methods.HttpPut(at("/apache4")))) {
                System.out.println(response.getStatusLine().getStatusCode());
            }
            // As an interface has it.
            org.apache.http.client.HttpClient general = client;
            System.out.println((int) general.execute(new org.apache.http.client.methods.HttpGet(at("/apache4")),
                    response -> response.getStatusLine().getStatusCode()));
            try (org.apache.http.client.methods.CloseableHttpResponse response = client.execute(
                    new org.apache.http.HttpHost("127.0.0.1", port), new org.apache.http.message.BasicHttpRequest("GET", "/apart4?token=s3cret"))) {
                System.out.println(response.getStatusLine().getStatusCode());
            }
        }
    }

    static void apache5(int port) throws Exception {
        try (org.apache.hc.client5.http.impl.classic.CloseableHttpClient client =
                org.apache.hc.client5.http.impl.classic.HttpClients.createDefault()) {
            System.out.println((int) client.execute(
                    new org.apache.hc.client5.http.classic.methods.HttpDelete(at("/apache5")), response -> response.getCode()));
            try (org.apache.hc.core5.http.ClassicHttpResponse response = client.executeOpen(
                    new org.apache.hc.core5.http.HttpHost("http", "127.0.0.1", port),
                    new org.apache.hc.client5.http.classic.methods.HttpGet("/apart5?token=s3cret"), null)) {
                System.out.println(response.getCode());
            }
        }
    }
}
