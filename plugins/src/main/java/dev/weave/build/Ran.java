package dev.weave.build;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** The result of a command. */
public final class Ran {
    public final int status;
    public final String output;
    public final String messages;

    public Ran(int status, ByteArrayOutputStream output, ByteArrayOutputStream messages) {
        this.status = status;
        this.output = text(output);
        this.messages = text(messages);
    }

    /** Runs a command to its end. */
    public static Ran of(List<String> command) throws IOException {
        Process process = new ProcessBuilder(command).start();
        process.getOutputStream().close();
        ByteArrayOutputStream messages = new ByteArrayOutputStream();
        // Both are read at a time: else a command that says much would wait for ever.
        Thread reader = new Thread(() -> copy(process.getErrorStream(), messages), "weave messages");
        reader.start();
        ByteArrayOutputStream output = new ByteArrayOutputStream();
        copy(process.getInputStream(), output);
        try {
            reader.join();
            return new Ran(process.waitFor(), output, messages);
        } catch (InterruptedException e) {
            process.destroy();
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        }
    }

    private static void copy(InputStream from, ByteArrayOutputStream to) {
        byte[] buffer = new byte[8192];
        try {
            for (int n = from.read(buffer); n >= 0; n = from.read(buffer)) {
                to.write(buffer, 0, n);
            }
        } catch (IOException e) {
            // The process ended: what it said until then counts.
        }
    }

    private static String text(ByteArrayOutputStream bytes) {
        return new String(bytes.toByteArray(), StandardCharsets.UTF_8);
    }
}
