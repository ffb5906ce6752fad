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
import java.nio.file.attribute.FileTime;
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

    /** Gives a folder the files of another: as second names of them, where the file system can do that. */
    static void sync(Path from, Path to) throws IOException {
        deleteAll(to);
        Files.walkFileTree(from, new SimpleFileVisitor<Path>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                Path there = to.resolve(from.relativize(file));
                makeParent(there);
                try {
                    Files.createLink(there, file);
                } catch (IOException | UnsupportedOperationException e) {
                    Files.copy(file, there);
                }
                return FileVisitResult.CONTINUE;
            }
        });
    }

    /** Removes what a folder has and another does not. */
    static void removeOthers(Path folder, Path other) throws IOException {
        if (!Files.isDirectory(folder)) {
            return;
        }
        Files.walkFileTree(folder, new SimpleFileVisitor<Path>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                if (!Files.isRegularFile(other.resolve(folder.relativize(file)))) {
                    Files.delete(file);
                }
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path inner, IOException failure) throws IOException {
                if (!inner.equals(folder) && !Files.isDirectory(other.resolve(folder.relativize(inner)))) {
                    Files.delete(inner);
                }
                return FileVisitResult.CONTINUE;
            }
        });
    }

    /** Makes one file of a folder newer than all that was made of the folder. */
    static void touchOne(Path folder) throws IOException {
        Files.walkFileTree(folder, new SimpleFileVisitor<Path>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                Files.setLastModifiedTime(file, FileTime.fromMillis(System.currentTimeMillis()));
                return FileVisitResult.TERMINATE;
            }
        });
    }

    /** Makes the folder that a file goes to, if it is not there. */
    static void makeParent(Path file) throws IOException {
        if (!Files.isDirectory(file.getParent())) {
            Files.createDirectories(file.getParent());
        }
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
}
