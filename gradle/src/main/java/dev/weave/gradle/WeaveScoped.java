package dev.weave.gradle;

import java.io.BufferedOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.Enumeration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;
import javax.inject.Inject;
import org.gradle.api.DefaultTask;
import org.gradle.api.file.Directory;
import org.gradle.api.file.RegularFile;
import org.gradle.api.file.RegularFileProperty;
import org.gradle.api.provider.ListProperty;
import org.gradle.api.provider.Property;
import org.gradle.api.tasks.CacheableTask;
import org.gradle.api.tasks.Classpath;
import org.gradle.api.tasks.Input;
import org.gradle.api.tasks.OutputFile;
import org.gradle.api.tasks.TaskAction;
import org.gradle.process.ExecOperations;

/** Weaves jars and folders of classes into one jar, as the Android plug-in wants it. */
@CacheableTask
public abstract class WeaveScoped extends DefaultTask implements WeaveSettings {
    /** The jars of all scopes. */
    @Classpath
    public abstract ListProperty<RegularFile> getJars();

    /** The folders of all scopes. */
    @Classpath
    public abstract ListProperty<Directory> getFolders();

    /** The name that the classes have in traces. */
    @Input
    public abstract Property<String> getArtifactName();

    /** The woven jar. */
    @OutputFile
    public abstract RegularFileProperty getOutput();

    /** Where the map from ids to names goes. */
    @OutputFile
    public abstract RegularFileProperty getSymbols();

    @Inject
    protected abstract ExecOperations getExec();

    @TaskAction
    void weave() {
        File merged = new File(getTemporaryDir(), getArtifactName().get() + ".jar");
        try {
            Files.createDirectories(getTemporaryDir().toPath());
            merge(merged.toPath());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        List<String> more = Arrays.asList("--no-runtime", "--fast", "--symbols", getSymbols().get().getAsFile().getPath());
        Weaver weaver = new Weaver(getExec(), this, getTemporaryDir());
        weaver.weave(merged, getOutput().get().getAsFile(), more, Collections.emptyList()).warnOfIdle(weaver);
    }

    /** Of two files of one name the first counts, as on a class path. */
    private void merge(Path merged) throws IOException {
        Set<String> seen = new HashSet<>();
        try (OutputStream file = new BufferedOutputStream(Files.newOutputStream(merged)); ZipOutputStream out = new ZipOutputStream(file)) {
            for (Directory directory : getFolders().get()) {
                Path folder = directory.getAsFile().toPath();
                List<Path> files;
                try (Stream<Path> walk = Files.walk(folder)) {
                    files = walk.filter(Files::isRegularFile).sorted().collect(Collectors.toList());
                }
                for (Path path : files) {
                    String name = folder.relativize(path).toString().replace(File.separatorChar, '/');
                    if (seen.add(name)) {
                        begin(out, name);
                        Files.copy(path, out);
                    }
                }
            }
            for (RegularFile jar : getJars().get()) {
                try (ZipFile zip = new ZipFile(jar.getAsFile())) {
                    copy(zip, out, seen);
                }
            }
        }
    }

    private static void copy(ZipFile zip, ZipOutputStream out, Set<String> seen) throws IOException {
        byte[] buffer = new byte[8192];
        for (Enumeration<? extends ZipEntry> entries = zip.entries(); entries.hasMoreElements();) {
            ZipEntry entry = entries.nextElement();
            if (entry.isDirectory() || !seen.add(entry.getName())) {
                continue;
            }
            begin(out, entry.getName());
            try (InputStream in = zip.getInputStream(entry)) {
                for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
                    out.write(buffer, 0, n);
                }
            }
        }
    }

    /** The same time for all: the jar follows from its members alone. */
    private static void begin(ZipOutputStream out, String name) throws IOException {
        ZipEntry entry = new ZipEntry(name);
        entry.setTime(315_532_800_000L);
        out.putNextEntry(entry);
    }
}
