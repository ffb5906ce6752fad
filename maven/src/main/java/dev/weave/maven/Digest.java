package dev.weave.maven;

import java.io.IOException;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.List;
import java.util.Map;

/** One number for all that a result follows from. */
final class Digest {
    private final MessageDigest sha;

    Digest() {
        try {
            sha = MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError("every JDK has SHA-256", e);
        }
    }

    Digest text(String text) {
        return bytes(text.getBytes(StandardCharsets.UTF_8));
    }

    Digest texts(List<String> texts) {
        texts.forEach(this::text);
        return this;
    }

    Digest content(Path file) throws IOException {
        return Files.isRegularFile(file) ? bytes(Files.readAllBytes(file)) : text("absent");
    }

    /** A file by path, size and time; of a folder, the classes in it. */
    Digest state(Path path) throws IOException {
        text(path.toString());
        if (Files.isDirectory(path)) {
            for (Map.Entry<String, String> entry : Files8.list(path, ".class").entrySet()) {
                text(entry.getKey()).text(entry.getValue());
            }
            return this;
        }
        return text(Files.exists(path) ? Files8.state(Files.readAttributes(path, BasicFileAttributes.class)) : "absent");
    }

    private Digest bytes(byte[] bytes) {
        sha.update(ByteBuffer.allocate(4).putInt(0, bytes.length));
        sha.update(bytes);
        return this;
    }

    /** The end of it. */
    String hex() {
        return String.format("%064x", new BigInteger(1, sha.digest()));
    }
}
