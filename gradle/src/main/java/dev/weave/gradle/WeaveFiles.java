package dev.weave.gradle;

import javax.inject.Inject;
import org.gradle.api.DefaultTask;
import org.gradle.api.file.ConfigurableFileCollection;
import org.gradle.api.file.RegularFileProperty;
import org.gradle.api.provider.ListProperty;
import org.gradle.api.tasks.CacheableTask;
import org.gradle.api.tasks.Classpath;
import org.gradle.api.tasks.Input;
import org.gradle.api.tasks.InputFile;
import org.gradle.api.tasks.OutputFile;
import org.gradle.api.tasks.PathSensitive;
import org.gradle.api.tasks.PathSensitivity;
import org.gradle.api.tasks.TaskAction;
import org.gradle.process.ExecOperations;

/** Weaves any file: a jar, a war, a finished apk. */
@CacheableTask
public abstract class WeaveFiles extends DefaultTask implements WeaveSettings {
    /** What is woven. */
    @InputFile
    @PathSensitive(PathSensitivity.NAME_ONLY)
    public abstract RegularFileProperty getInput();

    /** The woven file. The map from ids to names lies beside it. */
    @OutputFile
    public abstract RegularFileProperty getOutput();

    /** Where base types of rules with {@code extends} are looked up. */
    @Classpath
    public abstract ConfigurableFileCollection getReferences();

    /** More options of the program, such as those for signing. Passwords belong into the environment: {@code env:NAME}. */
    @Input
    public abstract ListProperty<String> getArguments();

    @Inject
    protected abstract ExecOperations getExec();

    @TaskAction
    void weave() {
        Weaver weaver = new Weaver(getExec(), this, getTemporaryDir());
        weaver.weave(getInput().get().getAsFile(), getOutput().get().getAsFile(), getArguments().get(), getReferences().getFiles()).warnOfIdle(weaver);
    }
}
