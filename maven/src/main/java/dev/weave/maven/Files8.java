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
import java.util.Arrays;
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

    /**
     * The files below a folder that end like that, a line each: size, time and path with `/`. They come in the order of the folder,
     * which is the same each time as long as nothing changes there.
     */
    static String lines(Path folder, String suffix) throws IOException {
        if (!Files.isDirectory(folder)) {
            return "";
        }
        StringBuilder lines = new StringBuilder();
        int prefix = folder.toString().length() + 1;
        Files.walkFileTree(folder, new SimpleFileVisitor<Path>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
                String path = file.toString();
                if (path.endsWith(suffix) && attributes.isRegularFile()) {
                    lines.append(state(attributes)).append(' ').append(path, prefix, path.length()).append('\n');
                }
                return FileVisitResult.CONTINUE;
            }
        });
        String separator = folder.getFileSystem().getSeparator();
        return separator.equals("/") ? lines.toString() : lines.toString().replace(separator, "/");
    }

    /** The same by path, and the state of each. */
    static TreeMap<String, String> list(Path folder, String suffix) throws IOException {
        TreeMap<String, String> found = new TreeMap<>();
        String lines = lines(folder, suffix);
        for (int begin = 0, end; begin < lines.length(); begin = end + 1) {
            end = lines.indexOf('\n', begin);
            int path = lines.indexOf(' ', lines.indexOf(' ', begin) + 1) + 1;
            found.put(lines.substring(path, end), lines.substring(begin, path - 1));
        }
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
        makeParent(to);
        Files.copy(from, to, StandardCopyOption.REPLACE_EXISTING);
    }

    /** Keeps a file that is going to be replaced by another of its name: as a second name of it, where the file system can do that. */
    static void keep(Path file, Path kept) throws IOException {
        makeParent(kept);
        Files.deleteIfExists(kept);
        try {
            Files.createLink(kept, file);
        } catch (IOException | UnsupportedOperationException e) {
            Files.copy(file, kept);
        }
    }

    /** Makes the folder that a file goes to, if it is not there. */
    static void makeParent(Path file) throws IOException {
        if (!Files.isDirectory(file.getParent())) {
            Files.createDirectories(file.getParent());
        }
    }

    /** Whether two files have the same bytes; the first one may be absent. */
    static boolean same(Path one, Path other) throws IOException {
        return Files.isRegularFile(one) && Files.size(one) == Files.size(other)
            && Arrays.equals(Files.readAllBytes(one), Files.readAllBytes(other));
    }

    /** Whether a file has just this text. */
    static boolean holds(Path file, String text) throws IOException {
        try {
            return text(file).equals(text);
        } catch (NoSuchFileException e) {
            return false;
        }
    }

    /** Writes a file that is there whole or not at all. */
    static void write(Path file, String text) throws IOException {
        makeParent(file);
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
