package dev.weave.gradle;

import dev.weave.build.RulesInputs;
import java.io.File;
import java.util.List;
import java.util.stream.Collectors;
import org.gradle.api.file.ConfigurableFileCollection;
import org.gradle.api.file.FileSystemLocation;
import org.gradle.api.file.RegularFileProperty;
import org.gradle.api.provider.ListProperty;
import org.gradle.api.provider.Property;
import org.gradle.api.provider.Provider;
import org.gradle.api.tasks.IgnoreEmptyDirectories;
import org.gradle.api.tasks.Input;
import org.gradle.api.tasks.InputFile;
import org.gradle.api.tasks.InputFiles;
import org.gradle.api.tasks.Internal;
import org.gradle.api.tasks.Optional;
import org.gradle.api.tasks.PathSensitive;
import org.gradle.api.tasks.PathSensitivity;

/** What a weave follows from, beside what is woven: tasks and the transform have it in common. */
public interface WeaveSettings {
    /** The rules files. */
    @InputFiles
    @PathSensitive(PathSensitivity.NONE)
    ConfigurableFileCollection getRules();

    /** What the rules include, and the libraries that they name, as the rules are when a task begins: a task may write them. */
    @InputFiles
    @IgnoreEmptyDirectories
    @PathSensitive(PathSensitivity.RELATIVE)
    default Provider<List<File>> getRulesInputs() {
        return getRules().getElements().map(files -> RulesInputs.of(
            files.stream().map(FileSystemLocation::getAsFile).collect(Collectors.toList()), () -> Weaver.runnable(this)));
    }

    /** What builds those libraries: nothing of it is handed to the program, since rules name their files. */
    @InputFiles
    @PathSensitive(PathSensitivity.NAME_ONLY)
    ConfigurableFileCollection getHooks();

    /** Ready-made packs by name. */
    @Input
    ListProperty<String> getPacks();

    /** Fail where a method that rules mean cannot be woven. */
    @Input
    Property<Boolean> getStrict();

    /** The program's version. It stands for the program: all platforms' write the same bytes. */
    @Input
    Property<String> getProgramVersion();

    /** A program of one's own. */
    @Optional
    @InputFile
    @PathSensitive(PathSensitivity.NONE)
    RegularFileProperty getExecutable();

    /** The program from the repositories: one file. */
    @Internal
    ConfigurableFileCollection getProgram();
}
