package dev.weave.maven;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** What a folder holds: what may be woven, and files that are only copied; a line each, as {@link Files8#lines} has them. */
final class Contents {
    /** What the program looks into. */
    private static final List<String> WOVEN = Arrays.asList(".class", ".jar", ".war", ".ear", ".aar", ".rar", ".sar", ".zip", ".jmod", ".apk",
        ".aab", ".dex", ".dll", ".exe");

    private final StringBuilder code = new StringBuilder();
    private final Set<String> others = new LinkedHashSet<>();

    static Contents of(Path folder) throws IOException {
        Contents contents = new Contents();
        String lines = Files8.lines(folder, "");
        for (int at = 0; at < lines.length();) {
            int end = lines.indexOf('\n', at);
            String line = lines.substring(at, end);
            if (WOVEN.stream().anyMatch(line::endsWith)) {
                contents.code.append(line).append('\n');
            } else {
                contents.others.add(line);
            }
            at = end + 1;
        }
        return contents;
    }

    boolean hasClasses() {
        return code.indexOf(".class\n") >= 0;
    }

    String code() {
        return code.toString();
    }

    String others() {
        return String.join("\n", others);
    }

    /** Brings the files that are only copied up to date in another folder, where they are as the list says. */
    void copyOthers(Path from, Path to, Path list) throws IOException {
        Set<String> before = new LinkedHashSet<>();
        if (Files.exists(list)) {
            before.addAll(Arrays.asList(Files8.text(list).split("\n")));
        }
        for (String line : before) {
            if (!others.contains(line) && !line.isEmpty()) {
                Files.deleteIfExists(to.resolve(path(line)));
            }
        }
        for (String line : others) {
            if (!before.contains(line)) {
                Files8.copy(from.resolve(path(line)), to.resolve(path(line)));
            }
        }
        Files8.write(list, others());
    }

    /** The path behind size and time. */
    private static String path(String line) {
        return line.substring(line.indexOf(' ', line.indexOf(' ') + 1) + 1);
    }
}
