package dev.weave.gradle;

import java.io.File;
import java.io.Serializable;
import java.util.function.Consumer;
import org.gradle.api.Action;
import org.gradle.api.Task;
import org.gradle.api.file.Directory;
import org.gradle.api.file.FileCollection;
import org.gradle.api.provider.Provider;
import org.gradle.api.tasks.JavaExec;
import org.gradle.api.tasks.testing.Test;
import org.gradle.process.ProcessForkOptions;

/**
 * What is done before a task runs a woven program. Traces go where `clean` takes them, unless the user says where, and so do those of
 * processes that it starts. The environment is looked at no sooner: the configuration cache would keep that of an earlier build.
 */
final class RunsWoven implements Action<Task>, Serializable {
    private static final long serialVersionUID = 1;
    private static final String TRACE = "WEAVE_TRACE";

    private final Provider<Directory> traces;
    private final Provider<? extends Consumer<String>> idleAspects;
    private final Provider<Boolean> weavesDependencies;
    private final String dependencies;

    RunsWoven(Provider<Directory> traces, Provider<? extends Consumer<String>> idleAspects, Provider<Boolean> weavesDependencies,
              String dependencies) {
        this.traces = traces;
        this.idleAspects = idleAspects;
        this.weavesDependencies = weavesDependencies;
        this.dependencies = dependencies;
    }

    @Override
    public void execute(Task task) {
        ProcessForkOptions process = (ProcessForkOptions) task;
        if (!process.getEnvironment().containsKey(TRACE)) {
            process.environment(TRACE, traces.get().getAsFile().getPath() + File.separator);
        }
        if (weavesDependencies.get()) {
            FileCollection classPath = task instanceof Test ? ((Test) task).getClasspath() : ((JavaExec) task).getClasspath();
            idleAspects.get().accept(IdleService.found(dependencies, classPath));
        }
    }
}
