package dev.weave.maven;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.List;

/**
 * All that a result follows from, as a text to be kept beside the result and compared. It is no hash: the text is short, and the
 * first hash in a Java process takes longer than all the rest of a goal that has nothing to do.
 */
final class Inputs {
    private final StringBuilder text = new StringBuilder();

    /** Adds a text behind its length, so that two never look like one. */
    Inputs text(String more) {
        text.append(more.length()).append(' ').append(more).append('\n');
        return this;
    }

    Inputs texts(List<String> more) {
        for (String one : more) {
            text(one);
        }
        return this;
    }

    Inputs content(Path file) throws IOException {
        return text(Files.isRegularFile(file) ? Files8.text(file) : "absent");
    }

    /** A file by path, size and time; of a folder, the classes in it. */
    Inputs state(Path path) throws IOException {
        text(path.toString());
        if (Files.isDirectory(path)) {
            return text(Files8.lines(path, ".class"));
        }
        return text(Files.exists(path) ? Files8.state(Files.readAttributes(path, BasicFileAttributes.class)) : "absent");
    }

    /** All of a library: the resources of a folder go along, too. */
    Inputs library(File library) throws IOException {
        return library.isDirectory() ? text(library.getPath()).text(Files8.lines(library.toPath(), "")) : state(library);
    }

    /** A file that may have a name that no file has. */
    private Inputs state(File file) throws IOException {
        return file.exists() ? state(file.toPath()) : text(file.getPath()).text("absent");
    }

    @Override
    public String toString() {
        return text.toString();
    }
}
