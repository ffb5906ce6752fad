package dev.weave.maven;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/** What Java 8 lacks for files. */
final class Files8 {
    private Files8() { }

    static String text(Path file) throws IOException {
        return new String(Files.readAllBytes(file), StandardCharsets.UTF_8);
    }

    /** How a file is known again without a look inside. */
    static String state(BasicFileAttributes attributes) {
        return attributes.size() + " " + attributes.lastModifiedTime().to(TimeUnit.NANOSECONDS);
    }

    /** The files below a folder that end like that, by path with `/`, and the state of each. */
    static TreeMap<String, String> list(Path folder, String suffix) throws IOException {
        TreeMap<String, String> found = new TreeMap<>();
        if (!Files.isDirectory(folder)) {
            return found;
        }
        int prefix = folder.toString().length() + 1;
        char separator = folder.getFileSystem().getSeparator().charAt(0);
        Files.walkFileTree(folder, new SimpleFileVisitor<Path>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
                String path = file.toString();
                if (attributes.isRegularFile() && path.endsWith(suffix)) {
                    found.put(path.substring(prefix).replace(separator, '/'), state(attributes));
                }
                return FileVisitResult.CONTINUE;
            }
        });
        return found;
    }

    static void deleteAll(Path folder) throws IOException {
        if (!Files.exists(folder)) {
            return;
        }
        Files.walkFileTree(folder, new SimpleFileVisitor<Path>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                Files.delete(file);
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path dir, IOException failure) throws IOException {
                Files.delete(dir);
                return FileVisitResult.CONTINUE;
            }
        });
    }

    static void copy(Path from, Path to) throws IOException {
        Files.createDirectories(to.getParent());
        Files.copy(from, to, StandardCopyOption.REPLACE_EXISTING);
    }

    /** Writes a file that is there whole or not at all. */
    static void write(Path file, String text) throws IOException {
        Files.createDirectories(file.getParent());
        Path partial = file.resolveSibling(file.getFileName() + ".partial");
        Files.write(partial, text.getBytes(StandardCharsets.UTF_8));
        Files.move(partial, file, StandardCopyOption.REPLACE_EXISTING);
    }

    /** The lines of a file; none if there is no such file. */
    static String[] lines(Path file) throws IOException {
        try {
            return text(file).split("\n");
        } catch (NoSuchFileException e) {
            return new String[0];
        }
    }
}
