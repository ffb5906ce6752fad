package dev.weave.gradle;

import dev.weave.build.Platform;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.function.Consumer;
import org.gradle.api.Plugin;
import org.gradle.api.Project;
import org.gradle.api.Task;
import org.gradle.api.artifacts.Configuration;
import org.gradle.api.artifacts.ConfigurationVariant;
import org.gradle.api.artifacts.type.ArtifactTypeDefinition;
import org.gradle.api.attributes.Attribute;
import org.gradle.api.attributes.LibraryElements;
import org.gradle.api.file.ConfigurableFileCollection;
import org.gradle.api.file.DirectoryProperty;
import org.gradle.api.file.FileCollection;
import org.gradle.api.file.RegularFile;
import org.gradle.api.file.SourceDirectorySet;
import org.gradle.api.plugins.JavaBasePlugin;
import org.gradle.api.plugins.JavaPlugin;
import org.gradle.api.provider.Provider;
import org.gradle.api.tasks.JavaExec;
import org.gradle.api.tasks.SourceSet;
import org.gradle.api.tasks.SourceSetContainer;
import org.gradle.api.tasks.TaskProvider;
import org.gradle.api.tasks.testing.Test;

/** Weaves what a project compiles, and what it depends on. */
public class WeavePlugin implements Plugin<Project> {
    static final Attribute<Boolean> WOVEN = Attribute.of("dev.weave.woven", Boolean.class);
    static final String GROUP = "dev.weave";
    private static final String RULES = "weave.toml";

    @Override
    public void apply(Project project) {
        String version = version();
        WeaveExtension weave = project.getExtensions().create("weave", WeaveExtension.class, project);
        weave.getEnabled().convention(true);
        weave.getStrict().convention(false);
        weave.getAddRuntime().convention(true);
        weave.getPacks().convention(Collections.emptyList());
        weave.getSourceSets().convention(Collections.singletonList(SourceSet.MAIN_SOURCE_SET_NAME));
        weave.getExecutable().convention(project.getLayout().file(
            project.getProviders().gradleProperty("weave.executable").map(File::new)));

        Configuration program = project.getConfigurations().create("weaveProgram", configuration -> {
            configuration.setDescription("The weave program for this platform.");
            configuration.setCanBeConsumed(false);
            configuration.setTransitive(false);
            configuration.setVisible(false);
            configuration.defaultDependencies(dependencies -> {
                String classifier = Platform.classifier(System.getProperty("os.name"), System.getProperty("os.arch"));
                if (classifier != null) {
                    dependencies.add(project.getDependencies().create(
                        GROUP + ":weave:" + version + ":" + classifier + "@exe"));
                }
            });
        });
        Configuration hooks = project.getConfigurations().create("weaveHooks", configuration -> {
            configuration.setDescription("What builds the libraries of own hooks that rules name.");
            configuration.setCanBeConsumed(false);
            configuration.setTransitive(false);
            configuration.setVisible(false);
        });
        File own = project.file(RULES);
        File common = new File(project.getRootDir(), RULES);
        Callable<Object> rules = () -> {
            if (!weave.getRules().getFrom().isEmpty()) {
                // Not its files: a task may write them.
                return weave.getRules();
            }
            return !weave.getPacks().get().isEmpty() ? Collections.emptyList()
                : own.isFile() ? Collections.singletonList(own)
                : common.isFile() ? Collections.singletonList(common) : Collections.emptyList();
        };
        Callable<String> named = () -> {
            StringBuilder names = new StringBuilder();
            try {
                project.files(rules).forEach(file -> names.append(file.getPath()).append('\n'));
            } catch (RuntimeException e) {
                // A task says where they are, and has not run yet: this project's alone, then.
                names.append(project.getPath()).append('\n');
            }
            weave.getPacks().get().forEach(pack -> names.append("pack:").append(pack).append('\n'));
            return names.toString();
        };
        Provider<IdleService> idleAspects = IdleService.service(project);
        Provider<? extends Consumer<String>> consumer = idleAspects;
        project.getTasks().withType(WeaveClasses.class).configureEach(task -> {
            configure(project, task, weave, rules, program, hooks, version);
            task.getIdleAspects().set(consumer);
            task.usesService(idleAspects);
        });
        project.getTasks().withType(WeaveFiles.class).configureEach(task -> configure(project, task, weave, rules, program, hooks, version));
        project.getTasks().withType(WeaveScoped.class).configureEach(task -> configure(project, task, weave, rules, program, hooks, version));
        for (String android : Arrays.asList("com.android.application", "com.android.library")) {
            project.getPlugins().withId(android, plugin -> {
                AndroidVariants.weave(project, weave);
                project.getConfigurations().getByName("implementation").withDependencies(dependencies -> {
                    if (weave.getEnabled().get() && weave.getAddRuntime().get()) {
                        dependencies.add(project.getDependencies().create(GROUP + ":weave-runtime:" + version));
                    }
                });
            });
        }
        project.getPlugins().withType(JavaBasePlugin.class, java -> weaveSourceSets(project, weave, version, named));
        RunsWoven first = new RunsWoven(project.getLayout().getBuildDirectory().dir("weave/traces"), consumer, weave.weavesDependencies(),
            IdleService.dependencies(project));
        for (Class<? extends Task> kind : Arrays.asList(Test.class, JavaExec.class)) {
            project.getTasks().withType(kind).configureEach(task -> {
                task.usesService(idleAspects);
                task.doFirst(first);
            });
        }
        weave.onDependencies(() -> IdleService.addDependencies(project, named));
        // Most builds weave no dependencies: what this costs each of them is left out.
        weave.beforeWoven(() -> registerTransform(project, weave, rules, program, hooks, version));
    }

    private static void configure(Project project, WeaveSettings settings, WeaveExtension weave, Callable<Object> rules,
                                  Configuration program, Configuration hooks,
                                  String version) {
        settings.getRules().from(project.files(rules));
        settings.getPacks().set(weave.getPacks());
        settings.getStrict().set(weave.getStrict());
        settings.getExecutable().set(weave.getExecutable());
        settings.getProgramVersion().set(version);
        settings.getHooks().from(hooks);
        // With a program of one's own, nothing is looked up.
        settings.getProgram().from((Callable<Object>) () ->
            weave.getExecutable().isPresent() ? Collections.emptyList() : program);
    }

    private static void weaveSourceSets(Project project, WeaveExtension weave, String version, Callable<String> rules) {
        SourceSetContainer sourceSets = project.getExtensions().getByType(SourceSetContainer.class);
        sourceSets.all(sourceSet -> {
            ConfigurableFileCollection compiled = project.getObjects().fileCollection();
            TaskProvider<WeaveClasses> task = project.getTasks().register(
                sourceSet.getTaskName("weave", "classes"), WeaveClasses.class, t -> {
                    t.setDescription("Weaves the classes of " + sourceSet.getName() + ".");
                    t.getClasses().from(compiled);
                    t.getArtifactName().set(sourceSet.getName());
                    t.getReferences().from(sourceSet.getCompileClasspath());
                    t.getOutput().set(project.getLayout().getBuildDirectory().dir("weave/classes/" + sourceSet.getName()));
                    t.getSymbols().set(project.getLayout().getBuildDirectory().file("weave/" + sourceSet.getName() + ".wsym"));
                    t.getReport().set(report(project, sourceSet));
                });
            // Languages add their folders when their plug-ins are applied, in any order: what there is in the end is taken.
            whenEvaluated(project, () -> replace(project, weave, sourceSets, sourceSet, compiled, task, rules));
            // A source set may have woven classes of another one on its class path.
            addRuntime(project, weave, sourceSet, version);
        });
        Map<SourceSet, FileCollection> replaced = new IdentityHashMap<>();
        weave.onDependencies(() -> {
            sourceSets.all(sourceSet -> weaveRuntime(project, weave, sourceSet, replaced));
            // Java's plug-in sets the tests' class path after it has made their source set.
            project.getPlugins().withType(JavaPlugin.class, java ->
                sourceSets.all(sourceSet -> weaveRuntime(project, weave, sourceSet, replaced)));
        });
    }

    /** Replaces dependencies on a runtime class path by woven ones; the rest stays. */
    private static void weaveRuntime(Project project, WeaveExtension weave, SourceSet sourceSet, Map<SourceSet, FileCollection> replaced) {
        FileCollection present = sourceSet.getRuntimeClasspath();
        if (present != replaced.get(sourceSet)) {
            Configuration runtime = project.getConfigurations().getByName(sourceSet.getRuntimeClasspathConfigurationName());
            FileCollection others = present.minus(runtime).minus(replaced.containsKey(sourceSet) ? weave.woven(runtime) : project.files());
            sourceSet.setRuntimeClasspath(project.files(others, weave.woven(runtime)));
            replaced.put(sourceSet, sourceSet.getRuntimeClasspath());
        }
    }

    /** The source set's classes are the woven ones from here on; the compilers' stay where they are. */
    private static void replace(Project project, WeaveExtension weave, SourceSetContainer sourceSets, SourceSet sourceSet,
                                ConfigurableFileCollection compiled, TaskProvider<WeaveClasses> task, Callable<String> rules) {
        if (!weave.getEnabled().get() || !weave.getSourceSets().get().contains(sourceSet.getName())) {
            return;
        }
        ConfigurableFileCollection classes = (ConfigurableFileCollection) sourceSet.getOutput().getClassesDirs();
        Set<Object> folders = new LinkedHashSet<>(classes.getFrom());
        Set<Object> compilers = new LinkedHashSet<>(classes.getBuiltBy());
        // Before Gradle 8 the task that stands for all of them is among them: it waits for the woven classes.
        compilers.removeIf(one -> !(one instanceof TaskProvider || one instanceof Task));
        compiled.from(folders).builtBy(new ArrayList<>(compilers));
        classes.setFrom(task.flatMap(WeaveClasses::getOutput));
        // Kotlin's plug-in packs the folder of its own sources' classes into the jar, too.
        Object kotlin = sourceSet.getExtensions().findByName("kotlin");
        if (kotlin instanceof SourceDirectorySet && ((SourceDirectorySet) kotlin).getClassesDirectory() instanceof DirectoryProperty) {
            ((DirectoryProperty) ((SourceDirectorySet) kotlin).getClassesDirectory()).set(task.flatMap(WeaveClasses::getOutput));
        }
        project.getTasks().named(sourceSet.getClassesTaskName(), classesTask -> classesTask.dependsOn(task));
        IdleService.add(project, () -> report(project, sourceSet).get().getAsFile(), rules);
        keepCompiling(project, sourceSets, sourceSet, compiled);
    }

    /** Has compilers read what compilers wrote: of this project, and of those that depend on it. */
    private static void keepCompiling(Project project, SourceSetContainer sourceSets, SourceSet sourceSet, ConfigurableFileCollection compiled) {
        CompiledClasses instead = new CompiledClasses(project.getLayout().getBuildDirectory().dir("weave/classes/" + sourceSet.getName()), compiled);
        sourceSets.matching(other -> other != sourceSet).all(other -> {
            other.setCompileClasspath(project.files(other.getCompileClasspath().getElements().map(instead)));
        });
        // Where Kotlin finds classes whose `internal` members others may use.
        project.getTasks().configureEach(task -> {
            Object friends = property(task, "friendPaths");
            if (friends instanceof ConfigurableFileCollection) {
                ConfigurableFileCollection paths = (ConfigurableFileCollection) friends;
                paths.setFrom(project.files(new ArrayList<>(paths.getFrom())).getElements().map(instead));
            }
        });
        Configuration api = project.getConfigurations().findByName(sourceSet.getApiElementsConfigurationName());
        ConfigurationVariant variant = api == null ? null : api.getOutgoing().getVariants().findByName(LibraryElements.CLASSES);
        if (variant != null) {
            variant.getArtifacts().clear();
            for (Object folder : compiled.getFrom()) {
                // What a provider says is not asked for before the variant is.
                for (Object one : folder instanceof Provider ? Collections.singleton(folder) : project.files(folder)) {
                    variant.artifact(one, artifact -> {
                        artifact.setType(ArtifactTypeDefinition.JVM_CLASS_DIRECTORY);
                        artifact.builtBy(compiled);
                    });
                }
            }
        }
    }

    /** A property of another plug-in's type, if it has such a one. */
    private static Object property(Object of, String name) {
        try {
            return of.getClass().getMethod("get" + Character.toUpperCase(name.charAt(0)) + name.substring(1)).invoke(of);
        } catch (ReflectiveOperationException e) {
            return null;
        }
    }

    private static Provider<RegularFile> report(Project project, SourceSet sourceSet) {
        return project.getLayout().getBuildDirectory().file("weave/" + sourceSet.getName() + ".idle");
    }

    private static void addRuntime(Project project, WeaveExtension weave, SourceSet sourceSet, String version) {
        project.getConfigurations().getByName(sourceSet.getRuntimeOnlyConfigurationName()).withDependencies(dependencies -> {
            boolean weaves = weave.getEnabled().get() && !weave.getSourceSets().get().isEmpty();
            if (weave.getAddRuntime().get() && (weaves || weave.weavesDependencies().get())) {
                dependencies.add(project.getDependencies().create(GROUP + ":weave-runtime:" + version));
            }
        });
    }

    private static void registerTransform(Project project, WeaveExtension weave, Callable<Object> rules, Configuration program,
                                          Configuration hooks, String version) {
        Attribute<String> type = ArtifactTypeDefinition.ARTIFACT_TYPE_ATTRIBUTE;
        project.getDependencies().getAttributesSchema().attribute(WOVEN);
        // Java's plug-ins make this type, and fail where it is there already: they may be applied after this one.
        project.getDependencies().getArtifactTypes().matching(artifact -> artifact.getName().equals(ArtifactTypeDefinition.JAR_TYPE))
            .all(artifact -> artifact.getAttributes().attribute(WOVEN, false));
        project.getDependencies().registerTransform(WeaveTransform.class, spec -> {
            spec.getFrom().attribute(WOVEN, false).attribute(type, ArtifactTypeDefinition.JAR_TYPE);
            spec.getTo().attribute(WOVEN, true).attribute(type, ArtifactTypeDefinition.JAR_TYPE);
            configure(project, spec.getParameters(), weave, rules, program, hooks, version);
        });
    }

    private static void whenEvaluated(Project project, Runnable action) {
        if (project.getState().getExecuted()) {
            action.run();
        } else {
            project.afterEvaluate(evaluated -> action.run());
        }
    }

    /** The plug-in's own version, which is the program's. */
    private static String version() {
        Properties properties = new Properties();
        try (InputStream in = WeavePlugin.class.getResourceAsStream("version.properties")) {
            properties.load(in);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return properties.getProperty("version");
    }
}
