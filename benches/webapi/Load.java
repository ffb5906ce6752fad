import java.io.BufferedInputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicLong;

/** {@code Load PORT PATH CONNECTIONS SECONDS}: asks as fast as it is answered, over connections that stay; prints the answers of each second. */
public final class Load {
    private static final AtomicLong ANSWERS = new AtomicLong();
    private static volatile boolean over;

    public static void main(String[] args) throws Exception {
        int port = Integer.parseInt(args[0]);
        byte[] request = ("GET " + args[1] + " HTTP/1.1\r\nHost: localhost\r\n\r\n").getBytes(StandardCharsets.US_ASCII);
        Thread[] threads = new Thread[Integer.parseInt(args[2])];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> ask(port, request));
            threads[i].start();
        }
        long next = System.nanoTime();
        for (int second = 0; second < Integer.parseInt(args[3]); second++) {
            next += 1_000_000_000L;
            Thread.sleep(Math.max(0, (next - System.nanoTime()) / 1_000_000));
            System.out.println(ANSWERS.getAndSet(0));
        }
        over = true;
        for (Thread thread : threads) {
            thread.join();
        }
    }

    private static void ask(int port, byte[] request) {
        try (Socket socket = new Socket("localhost", port)) {
            socket.setTcpNoDelay(true);
            OutputStream out = socket.getOutputStream();
            InputStream in = new BufferedInputStream(socket.getInputStream(), 1 << 14);
            while (!over) {
                out.write(request);
                String status = line(in);
                if (!status.startsWith("HTTP/1.1 200 ")) {
                    throw new IllegalStateException(status);
                }
                int length = -1;
                boolean chunked = false;
                for (String head; !(head = line(in)).isEmpty();) {
                    String lower = head.toLowerCase();
                    length = lower.startsWith("content-length: ") ? Integer.parseInt(head.substring(16).trim()) : length;
                    chunked |= lower.startsWith("transfer-encoding: chunked");
                }
                do {
                    int part = chunked ? Integer.parseInt(line(in), 16) : length;
                    in.skipNBytes(part);
                    if (chunked) {
                        line(in);
                    }
                    length = part;
                } while (chunked && length > 0);
                ANSWERS.incrementAndGet();
            }
        } catch (Exception wrong) {
            wrong.printStackTrace();
            System.exit(1);
        }
    }

    private static String line(InputStream in) throws Exception {
        StringBuilder text = new StringBuilder();
        for (int c; (c = in.read()) != '\n';) {
            if (c < 0) {
                throw new IllegalStateException("the connection is closed");
            }
            if (c != '\r') {
                text.append((char) c);
            }
        }
        return text.toString();
    }
}
