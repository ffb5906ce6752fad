package dev.weave.gradle;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.gradle.api.file.FileSystemLocation;

/** The libraries of own hooks that rules files name: what is woven follows from them, too. */
final class Libraries {
    /** Each {@code path = ".."}. The program alone reads TOML; a file too many does no harm. */
    private static final Pattern PATH = Pattern.compile("\\bpath[\"']?\\s*=\\s*(?:\"([^\"\\\\\\n]*+(?:\\\\.[^\"\\\\\\n]*+)*+)\"|'([^'\\n]*)')");

    private Libraries() { }

    static List<File> ofAll(Set<FileSystemLocation> rules) {
        return of(rules.stream().map(FileSystemLocation::getAsFile).collect(Collectors.toList()));
    }

    private static List<File> of(Iterable<File> rules) {
        List<File> libraries = new ArrayList<>();
        for (File file : rules) {
            if (file.isFile()) {
                libraries.addAll(of(file));
            }
        }
        return libraries;
    }

    private static List<File> of(File rules) {
        String text;
        try {
            text = new String(Files.readAllBytes(rules.toPath()), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        if (!text.contains("library")) {
            return Collections.emptyList();
        }
        List<File> libraries = new ArrayList<>();
        for (Matcher matcher = PATH.matcher(text); matcher.find();) {
            String literal = matcher.group(2);
            String path = literal != null ? literal : matcher.group(1).replaceAll("\\\\(.)", "$1");
            File named = new File(path);
            libraries.add(named.isAbsolute() ? named : new File(rules.getAbsoluteFile().getParentFile(), path));
        }
        return libraries;
    }
}
