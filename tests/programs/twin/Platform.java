import com.sun.net.httpserver.HttpServer;
import java.awt.Color;
import java.awt.image.BufferedImage;
import java.io.*;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Proxy;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.security.KeyPairGenerator;
import java.security.MessageDigest;
import java.security.Signature;
import java.text.MessageFormat;
import java.time.LocalDate;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.*;
import java.util.concurrent.*;
import java.util.logging.*;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;
import javax.management.ObjectName;
import javax.net.ssl.SSLContext;
import javax.xml.parsers.DocumentBuilderFactory;

/** Much of the platform, with the same output each time. */
public class Platform {
    record Order(String name, int amount) implements Serializable {}

    public static void main(String[] arguments) throws Throwable {
        System.setProperty("java.awt.headless", "true");
        System.out.println("collections: " + collections());
        System.out.println("streams: " + streams());
        System.out.println("texts: " + texts());
        System.out.println("numbers: " + new BigDecimal("1").divide(new BigDecimal("7"), java.math.MathContext.DECIMAL64)
                + " " + BigInteger.TWO.pow(200).mod(BigInteger.valueOf(9973)));
        System.out.println("reflection: " + reflection());
        System.out.println("threads: " + threads());
        System.out.println("serialisation: " + serialisation());
        System.out.println("files: " + files());
        System.out.println("http: " + http());
        System.out.println("crypto: " + crypto());
        System.out.println("xml: " + xml());
        System.out.println("image: " + image());
        System.out.println("log: " + log());
        System.out.println("beans: " + ManagementFactory.getPlatformMBeanServer()
                .getAttribute(new ObjectName("java.lang:type=ClassLoading"), "Verbose"));
        System.out.println("failures: " + failures());
    }

    private static String collections() {
        Map<String, List<Integer>> all = new TreeMap<>();
        for (int i = 0; i < 50; i++) {
            all.computeIfAbsent("k" + i % 7, key -> new LinkedList<>()).add(i * i);
        }
        var queue = new PriorityQueue<Integer>(Comparator.reverseOrder());
        all.values().forEach(queue::addAll);
        var concurrent = new ConcurrentSkipListMap<>(all);
        return queue.poll() + " " + concurrent.lastKey() + " " + new HashSet<>(all.keySet()).size();
    }

    private static String streams() {
        return IntStream.rangeClosed(1, 1000).parallel().boxed()
                .collect(Collectors.groupingBy(i -> i % 3, TreeMap::new, Collectors.summingInt(i -> i))).toString();
    }

    private static String texts() {
        var found = Pattern.compile("(?<word>\\p{Alpha}+)-(\\d{2,})").matcher("ab-1 cde-22 f-333");
        var all = new StringJoiner(",");
        while (found.find()) {
            all.add(found.group("word") + found.group(2));
        }
        String date = LocalDate.of(2024, 2, 29).plusYears(1).format(DateTimeFormatter.ofPattern("EEEE d MMMM uuuu", Locale.FRANCE));
        String zone = LocalDate.of(2024, 7, 1).atStartOfDay(ZoneId.of("Europe/Berlin")).toInstant().toString();
        return all + " " + date + " " + zone + " " + MessageFormat.format("{0,number,#.##} {1}", 3.14159, "pi")
                + " " + String.format(Locale.GERMANY, "%,.3f %08x", 1234567.891, 48879) + " " + "straße".toUpperCase(Locale.GERMAN);
    }

    private static String reflection() throws Throwable {
        try {
            var length = MethodHandles.lookup().findVirtual(String.class, "length", MethodType.methodType(int.class));
            var proxy = (Comparable<?>) Proxy.newProxyInstance(Platform.class.getClassLoader(), new Class<?>[] {Comparable.class},
                    (self, method, values) -> method.getName().length());
            var order = Order.class.getDeclaredConstructor(String.class, int.class).newInstance("tea", 3);
            @SuppressWarnings("unchecked") int compared = ((Comparable<Object>) proxy).compareTo("x");
            return (int) length.invokeExact("seven..") + " " + compared + " " + order;
        } catch (ReflectiveOperationException e) {
            return e.toString();
        }
    }

    private static String threads() throws Exception {
        var pool = Executors.newFixedThreadPool(4);
        var sums = new ArrayList<Future<Long>>();
        for (int n = 0; n < 20; n++) {
            int to = n * 100;
            sums.add(pool.submit(() -> IntStream.range(0, to).asLongStream().sum()));
        }
        long sum = 0;
        for (var part : sums) {
            sum += part.get();
        }
        pool.shutdown();
        var local = ThreadLocal.withInitial(() -> 7);
        var stage = CompletableFuture.supplyAsync(local::get).thenCombine(CompletableFuture.supplyAsync(() -> 35), Integer::sum);
        return sum + " " + stage.get(10, TimeUnit.MINUTES) + " " + pool.awaitTermination(10, TimeUnit.MINUTES);
    }

    /** Numbers that classes of the platform have by default are hashes of what they declare. */
    private static String serialisation() throws Exception {
        var bytes = new ByteArrayOutputStream();
        try (var out = new ObjectOutputStream(bytes)) {
            out.writeObject(List.of(new Order("tea", 3), new GregorianCalendar(2024, Calendar.MAY, 1), new BitSet(70), Locale.ITALY));
        }
        var numbers = new StringJoiner(" ");
        for (String name : new String[] {"java.util.BitSet", "java.awt.Color", "java.util.concurrent.locks.ReentrantLock", "java.util.Vector"}) {
            numbers.add(Long.toHexString(ObjectStreamClass.lookup(Class.forName(name)).getSerialVersionUID()));
        }
        try (var in = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
            return ((List<?>) in.readObject()).get(0) + " " + numbers;
        }
    }

    private static String files() throws IOException {
        var folder = Files.createTempDirectory("twin");
        var file = folder.resolve("a.gz");
        try (var out = new GZIPOutputStream(Files.newOutputStream(file))) {
            out.write("line\n".repeat(1000).getBytes(StandardCharsets.UTF_8));
        }
        try (var in = new BufferedReader(new InputStreamReader(new GZIPInputStream(Files.newInputStream(file)), StandardCharsets.UTF_8));
             var walk = Files.walk(folder)) {
            return in.lines().count() + " " + walk.count();
        } finally {
            Files.delete(file);
            Files.delete(folder);
        }
    }

    private static String http() throws Exception {
        var server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", exchange -> {
            byte[] answer = exchange.getRequestURI().getPath().getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(200, answer.length);
            exchange.getResponseBody().write(answer);
            exchange.close();
        });
        server.start();
        try {
            var uri = URI.create("http://localhost:" + server.getAddress().getPort() + "/tea");
            var answer = HttpClient.newHttpClient().sendAsync(HttpRequest.newBuilder(uri).build(), HttpResponse.BodyHandlers.ofString());
            return answer.get(10, TimeUnit.MINUTES).statusCode() + " " + answer.get().body();
        } finally {
            server.stop(0);
        }
    }

    private static String crypto() throws Exception {
        var digest = MessageDigest.getInstance("SHA-256").digest("tea".getBytes(StandardCharsets.UTF_8));
        var keys = KeyPairGenerator.getInstance("EC").generateKeyPair();
        var signature = Signature.getInstance("SHA256withECDSA");
        signature.initSign(keys.getPrivate());
        signature.update(digest);
        byte[] signed = signature.sign();
        signature.initVerify(keys.getPublic());
        signature.update(digest);
        return HexFormat.of().formatHex(digest, 0, 8) + " " + signature.verify(signed) + " " + SSLContext.getDefault().getProtocol();
    }

    private static String xml() throws Exception {
        var text = new ByteArrayInputStream("<a><b c='1'/><b c='2'/></a>".getBytes(StandardCharsets.UTF_8));
        var document = DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(text);
        return javax.xml.xpath.XPathFactory.newInstance().newXPath().evaluate("sum(//b/@c)", document);
    }

    private static String image() {
        var image = new BufferedImage(8, 8, BufferedImage.TYPE_INT_RGB);
        var graphics = image.createGraphics();
        graphics.setColor(new Color(1, 2, 3));
        graphics.fillRect(0, 0, 4, 8);
        graphics.dispose();
        return Integer.toHexString(image.getRGB(3, 7)) + " " + Integer.toHexString(image.getRGB(4, 7));
    }

    private static String log() {
        var told = new ArrayList<String>();
        var logger = Logger.getLogger("twin");
        logger.setUseParentHandlers(false);
        logger.addHandler(new StreamHandler() {
            @Override public void publish(LogRecord record) {
                told.add(record.getSourceMethodName() + ": " + record.getMessage());
            }
        });
        logger.warning("tea is out");
        return told.toString();
    }

    private static String failures() {
        var all = new StringJoiner(", ");
        for (Callable<?> task : List.<Callable<?>>of(() -> List.of(1).get(2), () -> Integer.parseInt("x"), () -> Class.forName("no.Such"),
                () -> new ArrayDeque<>().pop(), () -> Files.readString(java.nio.file.Path.of("/no/such")), () -> deep(0))) {
            try {
                all.add(String.valueOf(task.call()));
            } catch (Exception | StackOverflowError e) {
                all.add(e instanceof StackOverflowError ? "overflow" : e.toString());
            }
        }
        return all.toString();
    }

    private static int deep(int n) {
        return deep(n + 1) + 1;
    }
}
