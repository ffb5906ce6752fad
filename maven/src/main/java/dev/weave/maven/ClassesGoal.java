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
    /** The stamp's first line: all of the weave is done, or some of it. */
    private static final String HEAD = "weave stamp 2 ";
    private static final String DONE = HEAD + "done\n";
    private static final String UNFINISHED = HEAD + "unfinished\n";
    private static final String SYMBOLS = "META-INF/weave/symbols";

    /** The folder that the compilers wrote. */
    abstract File folder();

    /** What the folder is called in the build's own folder. */
    abstract String kind();

    /** The name that the classes have in traces and rules. */
    abstract String artifactName();

    @Override
    final void weave() throws IOException, MojoExecutionException, MojoFailureException {
        long begun = System.nanoTime();
        Path classes = folder().toPath();
        String present = Files8.lines(classes, ".class");
        if (present.isEmpty()) {
            getLog().debug("no classes in " + classes);
            return;
        }
        List<File> classPath = classPath();
        String inputs = inputs(classPath).toString();
        Path state = state().resolve(kind());
        // Most builds end here: this is to take no longer than a look at each file.
        if (Files8.holds(state.resolve("stamp"), DONE + present) && Files8.holds(state.resolve("inputs"), inputs)) {
            upToDate();
            getLog().debug("looked at all classes in " + (System.nanoTime() - begun) / 1000 + " us");
            return;
        }
        Files.createDirectories(state);
        try (FileChannel channel = FileChannel.open(state.resolve("lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            FileLock lock = channel.tryLock();
            if (lock == null) {
                getLog().info("another build weaves " + classes + ", an IDE perhaps: waiting for it");
                lock = channel.lock();
            }
            weave(classes, classPath, inputs, state);
        }
    }

    private void upToDate() {
        getLog().info("Nothing to weave - all classes are up to date");
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

    private void weave(Path classes, List<File> classPath, String inputs, Path state)
            throws IOException, MojoExecutionException, MojoFailureException {
        Map<String, String> present = Files8.list(classes, ".class");
        Path stamp = state.resolve("stamp");
        Path symbols = state().resolve(kind() + ".wsym");
        Set<String> woven = new HashSet<>(Arrays.asList(Files8.lines(stamp)));
        // Another build may have done it meanwhile; and a file system may tell the same files in another order.
        if (woven.contains(DONE.trim()) && Files8.holds(state.resolve("inputs"), inputs)
            && woven.containsAll(lines(present)) && woven.size() == present.size() + 1) {
            upToDate();
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
        Set<String> done = replace(classes, result, stamp, woven);
        Files8.write(state.resolve("inputs"), inputs);
        finish(classes, stamp, done);
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
                Files8.keep(classes.resolve(file.getKey()), copy);
            }
        }
    }

    /**
     * Puts the woven files where the compiler's were, and answers what is known of them then. The stamp names both the old and the
     * new ones meanwhile, so that a build that is killed leaves nothing that the next one takes for the compiler's.
     */
    private static Set<String> replace(Path classes, Path result, Path stamp, Set<String> before) throws IOException {
        TreeMap<String, String> made = Files8.list(result, "");
        TreeMap<String, String> moved = new TreeMap<>();
        TreeMap<String, String> after = new TreeMap<>();
        for (Map.Entry<String, String> file : made.entrySet()) {
            Path there = classes.resolve(file.getKey());
            if (Files8.same(there, result.resolve(file.getKey()))) {
                after.put(file.getKey(), Files8.state(Files.readAttributes(there, BasicFileAttributes.class)));
            } else {
                moved.put(file.getKey(), file.getValue());
            }
        }
        after.putAll(moved);
        Set<String> both = new TreeSet<>(lines(after));
        for (String line : before) {
            if (!line.startsWith(HEAD)) {
                both.add(line);
            }
        }
        Files8.write(stamp, UNFINISHED + String.join("\n", both) + "\n");
        for (String path : moved.keySet()) {
            Path there = classes.resolve(path);
            Files8.makeParent(there);
            Files.move(result.resolve(path), there, StandardCopyOption.REPLACE_EXISTING);
        }
        if (!made.containsKey(SYMBOLS)) {
            Files.deleteIfExists(classes.resolve(SYMBOLS));
        }
        after.keySet().removeIf(path -> !path.endsWith(".class"));
        return new TreeSet<>(lines(after));
    }

    /** Writes the stamp of a weave that is done: in the order of the folder, if nothing else was written there meanwhile. */
    private static void finish(Path classes, Path stamp, Set<String> done) throws IOException {
        String present = Files8.lines(classes, ".class");
        boolean alone = new HashSet<>(Arrays.asList(present.split("\n"))).equals(done);
        Files8.write(stamp, DONE + (alone ? present : String.join("\n", done) + "\n"));
    }
}
