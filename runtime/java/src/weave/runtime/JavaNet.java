package weave.runtime;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** Requests of java.net.http with one header more, for rules. It is of Java 11, as that client is. */
public final class JavaNet {
    private JavaNet() {}

    /** The request with this header, unless it has one of the name or there is no value. */
    public static HttpRequest with(HttpRequest request, String name, String value) {
        if (request == null || value == null || request.headers().firstValue(name).isPresent()) {
            return request;
        }
        Map<String, List<String>> all = new LinkedHashMap<>(request.headers().map());
        List<String> values = new ArrayList<>();
        values.add(value);
        all.put(name, values);
        return new More(request, HttpHeaders.of(all, (header, text) -> true));
    }

    /** The status of an answer that comes later, for rules that record it. */
    public static Object status(CompletableFuture<?> answer) {
        return new Status(answer);
    }

    private static final class Status extends Late {
        private final CompletableFuture<?> answer;

        Status(CompletableFuture<?> answer) {
            this.answer = answer;
        }

        @Override
        Object value() {
            boolean there = answer != null && answer.isDone() && !answer.isCompletedExceptionally();
            Object response = there ? answer.join() : null;
            return response instanceof HttpResponse ? ((HttpResponse<?>) response).statusCode() : null;
        }
    }

    private static final class More extends HttpRequest {
        private final HttpRequest request;
        private final HttpHeaders headers;

        More(HttpRequest request, HttpHeaders headers) {
            this.request = request;
            this.headers = headers;
        }

        @Override
        public Optional<BodyPublisher> bodyPublisher() {
            return request.bodyPublisher();
        }

        @Override
        public String method() {
            return request.method();
        }

        @Override
        public Optional<Duration> timeout() {
            return request.timeout();
        }

        @Override
        public boolean expectContinue() {
            return request.expectContinue();
        }

        @Override
        public URI uri() {
            return request.uri();
        }

        @Override
        public Optional<HttpClient.Version> version() {
            return request.version();
        }

        @Override
        public HttpHeaders headers() {
            return headers;
        }
    }
}
