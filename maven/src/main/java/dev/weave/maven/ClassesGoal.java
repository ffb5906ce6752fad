package dev.weave.maven;

import java.io.File;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.maven.plugin.MojoExecutionException;
import org.apache.maven.plugin.MojoFailureException;

/**
 * Weaves a folder of classes where it lies, since all that follows in a build reads it there. What the compiler wrote is kept
 * beside it; a stamp says by size and time which files are woven ones, so that any other is the compiler's.
 */
abstract class ClassesGoal extends WeaveGoal {
    private static final String FORMAT = "weave stamp 1 ";
    private static final String SYMBOLS = "META-INF/weave/symbols";

    /** The folder that the compilers wrote. */
    abstract File folder();

    /** What the folder is called in the build's own folder. */
    abstract String kind();

    /** The name that the classes have in traces and rules. */
    abstract String artifactName();

    @Override
    final void weave() throws IOException, MojoExecutionException, MojoFailureException {
        Path classes = folder().toPath();
        Map<String, String> present = Files8.list(classes, ".class");
        if (present.isEmpty()) {
            getLog().debug("no classes in " + classes);
            return;
        }
        Path state = state().resolve(kind());
        Files.createDirectories(state);
        try (FileChannel channel = FileChannel.open(state.resolve("lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            FileLock lock = channel.tryLock();
            if (lock == null) {
                getLog().info("another build weaves " + classes + ", an IDE perhaps: waiting for it");
                lock = channel.lock();
                present = Files8.list(classes, ".class");
            }
            weave(classes, present, state);
        }
    }

    @Override
    final void skipped() throws IOException {
        Path classes = folder().toPath();
        Path state = state().resolve(kind());
        Set<String> woven = new HashSet<>(Arrays.asList(Files8.lines(state.resolve("stamp"))));
        for (Map.Entry<String, String> file : Files8.list(classes, ".class").entrySet()) {
            Path copy = state.resolve("unwoven").resolve(artifactName()).resolve(file.getKey());
            if (woven.contains(line(file.getKey(), file.getValue())) && Files.exists(copy)) {
                Files8.copy(copy, classes.resolve(file.getKey()));
            }
        }
        if (!woven.isEmpty()) {
            Files.deleteIfExists(classes.resolve(SYMBOLS));
            Files.deleteIfExists(state.resolve("stamp"));
        }
    }

    private void weave(Path classes, Map<String, String> present, Path state)
            throws IOException, MojoExecutionException, MojoFailureException {
        List<File> classPath = classPath();
        String digest = digest(classPath).hex();
        Path stamp = state.resolve("stamp");
        Path symbols = state().resolve(kind() + ".wsym");
        Set<String> woven = new HashSet<>(Arrays.asList(Files8.lines(stamp)));
        if (woven.contains(FORMAT + digest) && woven.containsAll(lines(present)) && woven.size() == present.size() + 1) {
            getLog().info("Nothing to weave - all classes are up to date");
            return;
        }
        needHookLibrary();
        Program program = program();
        Path unwoven = state.resolve("unwoven").resolve(artifactName());
        Path result = state.resolve("woven");
        keep(classes, present, woven, unwoven);
        Files8.deleteAll(result);
        Files.deleteIfExists(symbols);
        List<String> options = options();
        addReferences(options, classPath, state.resolve("references"));
        int before = program.weave(options, unwoven, result, symbols);
        if (before > 0) {
            Files8.deleteAll(unwoven);
            Files.deleteIfExists(stamp);
            throw new MojoFailureException(before + " methods in " + classes + " were woven before, and not by this goal: let one plug-in or"
                + " execution weave them alone, and start again with `mvn clean`.");
        }
        replace(classes, result, stamp, woven, FORMAT + digest);
        Files8.deleteAll(result);
        getLog().info("Wove " + classes);
    }

    private static List<String> lines(Map<String, String> files) {
        List<String> lines = new ArrayList<>();
        files.forEach((path, state) -> lines.add(line(path, state)));
        return lines;
    }

    private static String line(String path, String state) {
        return state + " " + path;
    }

    /** Brings the copies of what the compiler wrote up to date. */
    private static void keep(Path classes, Map<String, String> present, Set<String> woven, Path unwoven) throws IOException {
        if (woven.isEmpty()) {
            Files8.deleteAll(unwoven);
        }
        for (String path : Files8.list(unwoven, ".class").keySet()) {
            if (!present.containsKey(path)) {
                Files.delete(unwoven.resolve(path));
            }
        }
        for (Map.Entry<String, String> file : present.entrySet()) {
            Path copy = unwoven.resolve(file.getKey());
            if (!woven.contains(line(file.getKey(), file.getValue())) || !Files.exists(copy)) {
                Files8.copy(classes.resolve(file.getKey()), copy);
            }
        }
    }

    /**
     * Puts the woven files where the compiler's were. The stamp names both the old and the new ones meanwhile, so that a build
     * that is killed leaves nothing that the next one takes for the compiler's.
     */
    private static void replace(Path classes, Path result, Path stamp, Set<String> before, String head) throws IOException {
        TreeMap<String, String> made = Files8.list(result, "");
        TreeMap<String, String> moved = new TreeMap<>();
        TreeMap<String, String> after = new TreeMap<>();
        for (Map.Entry<String, String> file : made.entrySet()) {
            Path there = classes.resolve(file.getKey());
            if (Files.isRegularFile(there) && Arrays.equals(Files.readAllBytes(there), Files.readAllBytes(result.resolve(file.getKey())))) {
                after.put(file.getKey(), Files8.state(Files.readAttributes(there, BasicFileAttributes.class)));
            } else {
                moved.put(file.getKey(), file.getValue());
            }
        }
        after.putAll(moved);
        Set<String> both = new TreeSet<>(lines(after));
        before.stream().filter(line -> !line.startsWith(FORMAT)).forEach(both::add);
        Files8.write(stamp, FORMAT + "unfinished\n" + String.join("\n", both) + "\n");
        for (String path : moved.keySet()) {
            Files.createDirectories(classes.resolve(path).getParent());
            Files.move(result.resolve(path), classes.resolve(path), StandardCopyOption.REPLACE_EXISTING);
        }
        if (!made.containsKey(SYMBOLS)) {
            Files.deleteIfExists(classes.resolve(SYMBOLS));
        }
        after.keySet().removeIf(path -> !path.endsWith(".class"));
        Files8.write(stamp, head + "\n" + String.join("\n", lines(after)) + "\n");
    }
}
