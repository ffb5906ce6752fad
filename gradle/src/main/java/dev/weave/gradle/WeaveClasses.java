package dev.weave.gradle;

import dev.weave.build.Outcome;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import javax.inject.Inject;
import org.gradle.api.DefaultTask;
import org.gradle.api.GradleException;
import org.gradle.api.file.ConfigurableFileCollection;
import org.gradle.api.file.DirectoryProperty;
import org.gradle.api.file.FileSystemOperations;
import org.gradle.api.file.RegularFileProperty;
import org.gradle.api.provider.Property;
import org.gradle.api.tasks.CacheableTask;
import org.gradle.api.tasks.CompileClasspath;
import org.gradle.api.tasks.IgnoreEmptyDirectories;
import org.gradle.api.tasks.Input;
import org.gradle.api.tasks.InputFiles;
import org.gradle.api.tasks.Internal;
import org.gradle.api.tasks.OutputDirectory;
import org.gradle.api.tasks.OutputFile;
import org.gradle.api.tasks.PathSensitive;
import org.gradle.api.tasks.PathSensitivity;
import org.gradle.api.tasks.TaskAction;
import org.gradle.process.ExecOperations;

/** Weaves the classes of a source set, whatever languages they were written in. */
@CacheableTask
public abstract class WeaveClasses extends DefaultTask implements WeaveSettings {
    /** The folders that compilers wrote. */
    @InputFiles
    @IgnoreEmptyDirectories
    @PathSensitive(PathSensitivity.RELATIVE)
    public abstract ConfigurableFileCollection getClasses();

    /** Where base types of rules with {@code extends} are looked up: what their methods do does not matter. */
    @CompileClasspath
    public abstract ConfigurableFileCollection getReferences();

    /** The name that the classes have in traces. */
    @Input
    public abstract Property<String> getArtifactName();

    /** Where the woven classes go. */
    @OutputDirectory
    public abstract DirectoryProperty getOutput();

    /** Where the map from ids to names goes. */
    @OutputFile
    public abstract RegularFileProperty getSymbols();

    /** Where this weave says which aspects put no hook into it. */
    @OutputFile
    public abstract RegularFileProperty getReport();

    /** Takes the report of each weave that is done. */
    @Internal
    public abstract Property<Consumer<String>> getIdleAspects();

    @Inject
    protected abstract ExecOperations getExec();

    @Inject
    protected abstract FileSystemOperations getFiles();

    @TaskAction
    void weave() {
        File output = getOutput().get().getAsFile();
        File symbols = getSymbols().get().getAsFile();
        getFiles().delete(spec -> spec.delete(symbols));
        output.mkdirs();
        List<File> folders = getClasses().getFiles().stream().filter(File::isDirectory).collect(Collectors.toList());
        String name = getArtifactName().get();
        // Ids and the map are those of one weave: several compilers' folders become one. It has the name that a single one has,
        // which is woven from where it lies.
        boolean single = folders.size() == 1 && folders.get(0).getName().equals(name);
        File input = single ? folders.get(0) : new File(getTemporaryDir(), name);
        if (!single) {
            getFiles().sync(spec -> spec.from(folders).into(input));
        }
        // Of what is there, the program writes what comes out otherwise: most classes of most builds stay as they are.
        removeOthers(input.toPath(), output.toPath());
        String[] empty = input.list();
        File report = getReport().get().getAsFile();
        if (empty == null || empty.length == 0) {
            IdleReports.nothing(report);
            return;
        }
        Weaver weaver = new Weaver(getExec(), this, getTemporaryDir());
        Outcome outcome = weaver.weave(input, output, Arrays.asList("--no-runtime", "--symbols", symbols.getPath()),
            getReferences().getFiles());
        if (outcome.alreadyWoven() > 0) {
            throw new GradleException(outcome.alreadyWoven() + " methods in " + input + " were woven before, and not by this task: let one plug-in"
                + " weave them alone, and start again with `gradle clean`.");
        }
        IdleReports.write(report, weaver, outcome);
        getIdleAspects().get().accept(report.getPath());
    }

    /** Removes what an earlier weave wrote of files that are gone, and its map. */
    private static void removeOthers(Path input, Path output) {
        try {
            Files.walkFileTree(output, new SimpleFileVisitor<Path>() {
                @Override
                public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                    return remove(file, Files.isRegularFile(input.resolve(output.relativize(file))));
                }

                @Override
                public FileVisitResult postVisitDirectory(Path folder, IOException failure) throws IOException {
                    return remove(folder, folder.equals(output) || Files.isDirectory(input.resolve(output.relativize(folder))));
                }
            });
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static FileVisitResult remove(Path path, boolean stays) throws IOException {
        if (!stays) {
            Files.delete(path);
        }
        return FileVisitResult.CONTINUE;
    }
}
