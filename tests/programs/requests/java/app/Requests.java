package app;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Timer;
import java.util.TimerTask;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RecursiveTask;
import java.util.concurrent.TimeUnit;

/** A server in one process: requests, what they ask of a database and of another service, and on which threads. */
public final class Requests {
    static final ExecutorService POOL = Executors.newFixedThreadPool(2);
    static final ForkJoinPool FORKS = new ForkJoinPool(2);
    static final Server SERVER = new Server();

    /** A message with headers in bytes; several may have one name. */
    public static final class Envelope {
        final List<String> names = new ArrayList<String>();
        final List<byte[]> values = new ArrayList<byte[]>();

        public void add(String name, byte[] value) {
            names.add(name);
            values.add(value);
        }

        public void remove(String name) {
            for (int at = names.indexOf(name); at >= 0; at = names.indexOf(name)) {
                names.remove(at);
                values.remove(at);
            }
        }

        public byte[] header(String name) {
            int at = names.indexOf(name);
            return at < 0 ? null : values.get(at);
        }

        /** It goes out: whether no header is there twice. */
        public boolean packed() {
            return new HashSet<String>(names).size() == names.size();
        }
    }

    /** What sends messages, and gets them. */
    public static final class Post {
        private static Envelope box;

        static void send(Envelope envelope) {
            System.out.println("packed " + (envelope.packed() && envelope.packed()));
            put(envelope);
        }

        static void put(Envelope envelope) {
            box = envelope;
        }

        static Envelope poll() {
            return box;
        }

        static void open(Envelope envelope) {
            Handlers.DB.query("SELECT opened");
        }
    }

    /** A request as a server has it. */
    public static final class Request {
        final String method;
        final String path;
        final Map<String, String> headers = new HashMap<String, String>();
        final CountDownLatch left = new CountDownLatch(1);
        final CountDownLatch answered = new CountDownLatch(1);
        /** It is answered when its method has returned. */
        volatile boolean later;

        Request(String method, String path) {
            this.method = method;
            this.path = path;
        }

        public String method() {
            return method;
        }

        public String path() {
            return path;
        }

        public String header(String name) {
            return headers.get(name);
        }

        public boolean isLater() {
            return later;
        }

        public void setHeader(String name, String value) {
            headers.put(name, value);
        }
    }

    /** An answer, whose status is known at the end. */
    public static final class Response {
        private int status = 200;

        public int status() {
            return status;
        }
    }

    static final class Server {
        void service(Request request, Response response) {
            if (request.later) {
                request.later = false;
                response.status = 203;
                return;
            }
            String route = route(request);
            try {
                if (route.startsWith("/later") || route.startsWith("/again")) {
                    request.later = true;
                    POOL.execute(new Finish(request, response));
                    return;
                }
                dispatch(route, request);
            } catch (IllegalStateException refused) {
                response.status = 409;
            } catch (RuntimeException failed) {
                response.status = 500;
            }
        }

        /** A request whose method has returned is answered. */
        void answer(Request request, Response response) {
            request.later = false;
            response.status = 202;
        }

        String route(Request request) {
            int last = request.path.lastIndexOf('/');
            return last == 0 ? request.path : request.path.substring(0, last) + "/{id}";
        }

        private void dispatch(String route, Request request) {
            try {
                Handlers.handle(request.path.split("/")[1]);
            } catch (RuntimeException e) {
                throw e;
            } catch (Exception e) {
                throw new RuntimeException(e);
            }
        }
    }

    /** What asks the database, itself by way of a driver that has the same method. */
    static class Db {
        int query(String sql) {
            return sql.length();
        }
    }

    static final class Pool extends Db {
        private final Db driver = new Db();

        @Override
        int query(String sql) {
            if (sql.contains("broken")) {
                throw new IllegalArgumentException("no such table");
            }
            return driver.query(sql);
        }
    }

    /** What rules call to read and write headers. */
    public static final class Carrier {
        public static String get(Request request, String name) {
            return request.header(name);
        }

        public static void set(Request request, String name, String value) {
            if (value != null) {
                request.setHeader(name, value);
            }
        }
    }

    /** A client of another service. */
    static final class Client {
        Response send(Request request) {
            Response response = new Response();
            SERVER.service(request, response);
            return response;
        }
    }

    /** A client whose answers come later. */
    public static final class Stages {
        CompletableFuture<Integer> ask(String sql) {
            return CompletableFuture.supplyAsync(Tasks.giving(sql), POOL);
        }

        /** What fails when the method has returned. */
        CompletableFuture<Integer> begin() {
            return new CompletableFuture<Integer>();
        }

        public static CompletableFuture<Integer> start() {
            return new CompletableFuture<Integer>();
        }
    }

    static final class Handlers {
        static final Db DB = new Pool();

        static void handle(String what) throws Exception {
            switch (what) {
                case "plain":
                    DB.query("SELECT 1");
                    break;
                case "fail":
                    throw new IllegalArgumentException("on purpose");
                case "refuse":
                    throw new IllegalStateException("no");
                case "broken":
                    DB.query("SELECT broken");
                    break;
                case "call":
                    new Client().send(new Request("GET", "/price/7"));
                    break;
                case "price":
                    DB.query("SELECT price");
                    break;
                case "submit":
                    POOL.submit(Tasks.asking("SELECT submit")).get();
                    break;
                case "execute":
                    execute();
                    break;
                case "named":
                    POOL.submit(new Named()).get();
                    break;
                case "all":
                    all();
                    break;
                case "future":
                    CompletableFuture.supplyAsync(Tasks.giving("SELECT supply"), POOL).thenApplyAsync(Tasks.going("SELECT apply"), POOL).get();
                    break;
                case "stage":
                    new Stages().ask("SELECT stage").get();
                    break;
                case "stages":
                    new Stages().begin().completeExceptionally(new IllegalStateException("late"));
                    Stages.start().completeExceptionally(new IllegalStateException("late"));
                    break;
                case "thread":
                    Thread thread = new Thread(Tasks.running("SELECT thread", null));
                    thread.start();
                    thread.join();
                    break;
                case "subclass":
                    Thread own = new Own();
                    own.start();
                    own.join();
                    break;
                case "timer":
                    timer();
                    break;
                case "fork":
                    FORKS.submit(new Sum(0, 4)).get();
                    break;
                case "parallel":
                    parallel();
                    break;
                case "queue":
                case "consume":
                case "batch":
                case "leave":
                    Queues.handle(what);
                    break;
                default:
                    throw new AssertionError(what);
            }
        }

        private static void execute() throws InterruptedException {
            CountDownLatch done = new CountDownLatch(1);
            POOL.execute(Tasks.running("SELECT execute", done));
            done.await();
        }

        private static void all() throws InterruptedException {
            List<Callable<Integer>> tasks = new ArrayList<Callable<Integer>>();
            tasks.add(Tasks.asking("SELECT first"));
            tasks.add(Tasks.asking("SELECT second"));
            POOL.invokeAll(tasks);
        }

        /** Elements wait for each other, so that two threads have them. */
        private static void parallel() {
            Arrays.stream(new int[2]).parallel().map(Tasks.mapping("SELECT parallel", new CyclicBarrier(2))).sum();
            Arrays.stream(new int[1]).map(Tasks.mapping("SELECT alone", new CyclicBarrier(1))).sum();
        }

        private static void timer() throws InterruptedException {
            CountDownLatch done = new CountDownLatch(1);
            Timer timer = new Timer();
            timer.schedule(new TimerTask() {
                @Override
                public void run() {
                    DB.query("SELECT timer");
                    done.countDown();
                }
            }, 1);
            done.await();
            timer.cancel();
        }
    }

    /** What a request goes on with. */
    static final class Finish implements Runnable {
        private final Request request;
        private final Response response;

        Finish(Request request, Response response) {
            this.request = request;
            this.response = response;
        }

        @Override
        public void run() {
            try {
                request.left.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            Handlers.DB.query("SELECT later");
            if (request.path.startsWith("/later")) {
                SERVER.answer(request, response);
            } else {
                SERVER.service(request, response);
            }
            request.answered.countDown();
        }
    }

    /** A task of a class that has a name: who hands it over may ask for it again. */
    static final class Named implements Callable<Integer> {
        @Override
        public Integer call() {
            return Handlers.DB.query("SELECT named");
        }
    }

    static final class Own extends Thread {
        @Override
        public void run() {
            Handlers.DB.query("SELECT subclass");
        }
    }

    public static final class Sum extends RecursiveTask<Integer> {
        private static final long serialVersionUID = 1;
        private final int from;
        private final int to;

        Sum(int from, int to) {
            this.from = from;
            this.to = to;
        }

        @Override
        protected Integer compute() {
            if (to - from == 1) {
                return Handlers.DB.query("SELECT fork");
            }
            Sum left = new Sum(from, (from + to) / 2);
            Sum right = new Sum((from + to) / 2, to);
            left.fork();
            return right.compute() + left.join();
        }
    }

    /** What goes through a queue. */
    static final class Message {
        final CountDownLatch done;
        final boolean isConsumed;

        Message(CountDownLatch done, boolean isConsumed) {
            this.done = done;
            this.isConsumed = isConsumed;
        }
    }

    /** Queues, and the threads that empty them, which no request has started. */
    static final class Queues {
        private static final Message STOP = new Message(null, false);
        private static final LinkedBlockingQueue<Message> WORK = new LinkedBlockingQueue<Message>();
        private static final LinkedBlockingQueue<Message> LEFT = new LinkedBlockingQueue<Message>();
        private static final ArrayBlockingQueue<List<Message>> BATCHES = new ArrayBlockingQueue<List<Message>>(4);
        private static final Thread WORKER = new Thread() {
            @Override
            public void run() {
                work();
            }
        };
        private static final Thread BATCHER = new Thread() {
            @Override
            public void run() {
                batch();
            }
        };

        static void send(Message message) throws InterruptedException {
            WORK.put(message);
        }

        static Message note(Message message) {
            return message;
        }

        private static void work() {
            try {
                for (Message message = WORK.take(); message != STOP; message = WORK.take()) {
                    if (message.isConsumed) {
                        consume(message);
                    } else {
                        Handlers.DB.query("SELECT queue");
                    }
                    message.done.countDown();
                }
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }

        private static void batch() {
            try {
                for (List<Message> all = BATCHES.take(); !all.isEmpty(); all = BATCHES.take()) {
                    consume(all);
                    all.get(0).done.countDown();
                }
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }

        static void consume(Message message) {
            Handlers.DB.query("SELECT consume");
        }

        static void consume(List<Message> all) {
            Handlers.DB.query("SELECT batch");
        }

        /** What says itself where it comes from. */
        static void receive(Request request) {
            Handlers.DB.query("SELECT received");
        }

        /** A method that runs where its argument was given. */
        static void visit(Message message) {
            Handlers.DB.query("SELECT visit");
        }

        static void handle(String what) throws InterruptedException {
            Message message = new Message(new CountDownLatch(1), what.equals("consume"));
            switch (what) {
                case "queue":
                    WORK.put(message);
                    break;
                case "consume":
                    send(message);
                    break;
                case "batch":
                    BATCHES.put(Arrays.asList(note(message), note(new Message(null, false)), new Message(null, false)));
                    break;
                default:
                    LEFT.add(message);
                    return;
            }
            message.done.await();
        }

        /** What it takes is over with it. */
        static Message drain() {
            Message message = LEFT.poll();
            Handlers.DB.query("SELECT drained");
            LEFT.poll();
            Handlers.DB.query("SELECT empty");
            LEFT.add(message);
            LEFT.poll();
            return message;
        }

        static void start() {
            WORKER.start();
            BATCHER.start();
        }

        static void stop() throws InterruptedException {
            WORK.put(STOP);
            BATCHES.put(new ArrayList<Message>());
            WORKER.join();
            BATCHER.join();
        }
    }

    /** What no request asks for. */
    static void tick() {
        Handlers.DB.query("SELECT tick");
    }

    static int ask(String path, String... headers) {
        Request request = new Request("GET", path);
        for (int i = 0; i < headers.length; i += 2) {
            request.headers.put(headers[i], headers[i + 1]);
        }
        Response response = new Response();
        SERVER.service(request, response);
        request.left.countDown();
        if (path.startsWith("/later") || path.startsWith("/again")) {
            try {
                request.answered.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
        return response.status();
    }

    public static void main(String[] args) throws Exception {
        if (args.length > 1) {
            ask("/call/in", java.util.Arrays.copyOfRange(args, 1, args.length));
            return;
        }
        Queues.start();
        String[] kinds = {"plain", "fail", "refuse", "broken", "call", "submit", "execute", "named", "all", "future", "thread", "subclass", "timer", "fork", "later", "again", "stage", "stages", "parallel", "queue", "consume", "batch", "leave"};
        for (String kind : kinds) {
            System.out.println(kind + " " + ask("/" + kind + "/7"));
        }
        Queues.visit(Queues.LEFT.peek());
        Queues.visit(Queues.drain());
        Handlers.DB.query("SELECT after");
        tick();
        String trace = "0af7651916cd43dd8448eb211c80319c";
        ask("/plain/in", "traceparent", "00-" + trace + "-b7ad6b7169203331-01", "tracestate", "vendor=1", "baggage", "user=7");
        ask("/call/on", "traceparent", "00-" + trace + "-b7ad6b7169203332-00");
        Request linked = new Request("GET", "/linked");
        linked.setHeader("traceparent", "00-" + trace + "-b7ad6b7169203333-00");
        linked.setHeader("tracestate", "vendor=3");
        Queues.receive(linked);
        Post.send(new Envelope());
        Post.open(Post.poll());
        Post.put(new Envelope());
        Post.poll();
        for (String wrong : new String[] {"", "00-" + trace, "00-" + trace.toUpperCase() + "-b7ad6b7169203331-01", "ff-" + trace + "-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01", "00-" + trace + "-0000000000000000-01", "00-" + trace + "-b7ad6b7169203331-01\r\nX: y"}) {
            ask("/plain/wrong", "traceparent", wrong, "tracestate", "vendor=2");
        }
        many(args.length > 0 ? Integer.parseInt(args[0]) : 200);
        Queues.stop();
        FORKS.shutdown();
        POOL.shutdown();
        POOL.awaitTermination(10, TimeUnit.SECONDS);
    }

    /** Many requests at once, on threads that they share: none comes into another's context. */
    private static void many(int count) throws Exception {
        ExecutorService front = Executors.newFixedThreadPool(8);
        List<java.util.concurrent.Future<Integer>> all = new ArrayList<java.util.concurrent.Future<Integer>>();
        String[] kinds = {"plain", "fail", "submit", "call", "future", "thread", "later", "again", "queue"};
        for (int i = 0; i < count; i++) {
            String path = "/" + kinds[i % kinds.length] + "/many";
            all.add(front.submit(new Callable<Integer>() {
                @Override
                public Integer call() {
                    return ask(path);
                }
            }));
        }
        int sum = 0;
        for (java.util.concurrent.Future<Integer> one : all) {
            sum += one.get();
        }
        front.shutdown();
        System.out.println("many " + sum);
    }
}
