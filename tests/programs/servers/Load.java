package servers;

import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * {@code Load PORT CLIENTS ANSWERS}: so many virtual threads ask, each on a connection of its own, until the server is gone. Prints
 * {@code enough} once there are so many right answers, and at the end how many answers were right or
 * wrong, and how many clients were cut off before and after that.
 */
public final class Load {
    private static final AtomicInteger RIGHT = new AtomicInteger(), EARLY = new AtomicInteger(), CUT = new AtomicInteger();
    private static final ConcurrentHashMap<String, String> WRONG = new ConcurrentHashMap<>();

    public static void main(String[] args) {
        int port = Integer.parseInt(args[0]), clients = Integer.parseInt(args[1]), enough = Integer.parseInt(args[2]);
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int c = 0; c < clients; c++) {
                int first = c * 1_001;
                threads.submit(() -> client(port, first, enough));
            }
        }
        WRONG.entrySet().stream().limit(3).forEach(e -> System.err.println("expected " + e.getKey() + "\nfound " + e.getValue()));
        System.out.println("right " + RIGHT + " wrong " + WRONG.size() + " early " + EARLY + " cut " + CUT);
    }

    private static void client(int port, int first, int enough) {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            InputStream in = new BufferedInputStream(socket.getInputStream());
            for (int n = first;; n++) {
                socket.getOutputStream().write(("GET /" + n + " HTTP/1.1\r\nHost: localhost\r\n\r\n").getBytes(StandardCharsets.US_ASCII));
                String found = answer(in), expected = "HTTP/1.1 200 virtual " + Work.answer(n);
                if (!found.equals(expected)) {
                    WRONG.put(expected, found);
                } else if (RIGHT.incrementAndGet() == enough) {
                    System.out.println("enough");
                }
            }
        } catch (IOException gone) {
            (RIGHT.get() < enough ? EARLY : CUT).incrementAndGet();
        }
    }

    /** Status, kind of thread and body of an answer that says its length or comes in chunks. */
    private static String answer(InputStream in) throws IOException {
        String status = line(in).trim(), thread = "";
        int length = 0;
        boolean chunked = false;
        for (String header = line(in); !header.isEmpty(); header = line(in)) {
            String[] parts = header.split(": *", 2);
            switch (parts[0].toLowerCase()) {
                case "content-length" -> length = Integer.parseInt(parts[1]);
                case "transfer-encoding" -> chunked = true;
                case "server-thread" -> thread = parts[1];
                default -> { }
            }
        }
        StringBuilder body = new StringBuilder();
        if (chunked) {
            for (int size = Integer.parseInt(line(in), 16); size > 0; size = Integer.parseInt(line(in), 16)) {
                body.append(text(in, size));
                line(in);
            }
            line(in);
        } else {
            body.append(text(in, length));
        }
        return status.replaceFirst(" OK$", "") + " " + thread + " " + body;
    }

    private static String text(InputStream in, int length) throws IOException {
        byte[] bytes = in.readNBytes(length);
        if (bytes.length < length) {
            throw new EOFException();
        }
        return new String(bytes, StandardCharsets.UTF_8);
    }

    private static String line(InputStream in) throws IOException {
        StringBuilder line = new StringBuilder();
        for (int c = in.read(); c != '\n'; c = in.read()) {
            if (c < 0) {
                throw new EOFException();
            }
            if (c != '\r') {
                line.append((char) c);
            }
        }
        return line.toString();
    }
}
