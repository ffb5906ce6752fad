package dev.weave.gradle;

import dev.weave.build.Modules;
import java.util.ArrayList;
import java.util.List;
import javax.inject.Inject;
import org.gradle.api.GradleException;
import org.gradle.api.Project;
import org.gradle.api.artifacts.Configuration;
import org.gradle.api.artifacts.component.ComponentIdentifier;
import org.gradle.api.artifacts.component.ModuleComponentIdentifier;
import org.gradle.api.file.ConfigurableFileCollection;
import org.gradle.api.file.FileCollection;
import org.gradle.api.file.RegularFileProperty;
import org.gradle.api.provider.ListProperty;
import org.gradle.api.provider.Property;
import org.gradle.api.provider.Provider;

/** What a build script says in {@code weave { .. }}. */
public abstract class WeaveExtension {
    private final Project project;
    private final Modules dependencies = new Modules();
    private final List<Runnable> onDependencies = new ArrayList<>();
    private final Property<Boolean> weavesDependencies;
    private Runnable beforeWoven = () -> { };

    @Inject
    public WeaveExtension(Project project) {
        this.project = project;
        weavesDependencies = project.getObjects().property(Boolean.class).convention(false);
    }

    /** Whether a build script names dependencies. */
    Provider<Boolean> weavesDependencies() {
        return weavesDependencies;
    }

    /** False leaves everything as it was compiled. */
    public abstract Property<Boolean> getEnabled();

    /** The rules files: {@code weave.toml} of the project, else of the root project. */
    public abstract ConfigurableFileCollection getRules();

    /** Ready-made packs by name, such as {@code all}. */
    public abstract ListProperty<String> getPacks();

    /** Fail where a method that rules mean cannot be woven. */
    public abstract Property<Boolean> getStrict();

    /** Whether the hook library becomes a runtime dependency of each woven source set. */
    public abstract Property<Boolean> getAddRuntime();

    /** A program of one's own, instead of the one from the repositories. */
    public abstract RegularFileProperty getExecutable();

    /** The source sets that are woven: {@code main} alone unless others are named. */
    public abstract ListProperty<String> getSourceSets();

    /**
     * Weaves dependencies on the runtime class paths, too.
     *
     * @param patterns {@code group:module}, with {@code *} for any characters
     */
    public void dependencies(String... patterns) {
        boolean first = dependencies.isEmpty();
        for (String pattern : patterns) {
            if (!dependencies.add(pattern)) {
                throw new GradleException("weave: dependencies(\"" + pattern + "\"): write group:module, such as \"org.postgresql:*\"");
            }
        }
        if (first && !dependencies.isEmpty()) {
            weavesDependencies.set(true);
            onDependencies.forEach(Runnable::run);
        }
    }

    /** The files of a configuration, with those woven that {@link #dependencies} names. */
    public FileCollection woven(Configuration configuration) {
        beforeWoven.run();
        beforeWoven = () -> { };
        Modules patterns = dependencies;
        FileCollection woven = configuration.getIncoming().artifactView(view -> {
            view.componentFilter(id -> matches(patterns, id));
            view.getAttributes().attribute(WeavePlugin.WOVEN, true);
        }).getFiles();
        FileCollection rest = configuration.getIncoming()
            .artifactView(view -> view.componentFilter(id -> !matches(patterns, id)))
            .getFiles();
        return project.files(woven, rest);
    }

    /** Runs an action where a build script names dependencies, if it ever does. */
    void onDependencies(Runnable action) {
        onDependencies.add(action);
        if (!dependencies.isEmpty()) {
            action.run();
        }
    }

    /** Runs an action before files are woven for the first time. */
    void beforeWoven(Runnable action) {
        beforeWoven = action;
    }

    private static boolean matches(Modules dependencies, ComponentIdentifier id) {
        return id instanceof ModuleComponentIdentifier
            && dependencies.mean(((ModuleComponentIdentifier) id).getGroup(), ((ModuleComponentIdentifier) id).getModule());
    }
}
