package dev.weave.gradle;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.function.Consumer;
import org.gradle.api.Plugin;
import org.gradle.api.Project;
import org.gradle.api.artifacts.Configuration;
import org.gradle.api.artifacts.type.ArtifactTypeDefinition;
import org.gradle.api.attributes.Attribute;
import org.gradle.api.file.ConfigurableFileCollection;
import org.gradle.api.file.DirectoryProperty;
import org.gradle.api.file.RegularFile;
import org.gradle.api.file.SourceDirectorySet;
import org.gradle.api.plugins.JavaBasePlugin;
import org.gradle.api.provider.Provider;
import org.gradle.api.tasks.JavaExec;
import org.gradle.api.tasks.SourceSet;
import org.gradle.api.tasks.SourceSetContainer;
import org.gradle.api.tasks.TaskProvider;
import org.gradle.api.tasks.testing.Test;
import org.gradle.process.ProcessForkOptions;

/** Weaves what a project compiles, and what it depends on. */
public class WeavePlugin implements Plugin<Project> {
    static final Attribute<Boolean> WOVEN = Attribute.of("dev.weave.woven", Boolean.class);
    static final String GROUP = "dev.weave";
    private static final String RULES = "weave.toml";
    private static final String TRACE = "WEAVE_TRACE";
    /** The languages whose compile tasks a source set may have. */
    private static final List<String> LANGUAGES = Arrays.asList("java", "kotlin", "groovy", "scala");

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
                String classifier = Program.classifier(System.getProperty("os.name"), System.getProperty("os.arch"));
                if (classifier != null) {
                    dependencies.add(project.getDependencies().create(
                        GROUP + ":weave:" + version + ":" + classifier + "@exe"));
                }
            });
        });
        File own = project.file(RULES);
        File common = new File(project.getRootDir(), RULES);
        Callable<List<File>> rules = () -> {
            if (!weave.getRules().isEmpty()) {
                return new ArrayList<>(weave.getRules().getFiles());
            }
            return !weave.getPacks().get().isEmpty() ? Collections.emptyList()
                : own.isFile() ? Collections.singletonList(own)
                : common.isFile() ? Collections.singletonList(common) : Collections.emptyList();
        };
        Callable<String> named = () -> {
            StringBuilder names = new StringBuilder();
            rules.call().forEach(file -> names.append(file.getPath()).append('\n'));
            weave.getPacks().get().forEach(pack -> names.append("pack:").append(pack).append('\n'));
            return names.toString();
        };
        Provider<IdleAspects> idleAspects = IdleAspects.service(project);
        Provider<? extends Consumer<String>> consumer = idleAspects;
        project.getTasks().withType(WeaveClasses.class).configureEach(task -> {
            configure(project, task, weave, rules, program, version);
            task.getIdleAspects().set(consumer);
            task.usesService(idleAspects);
        });
        project.getTasks().withType(WeaveFiles.class).configureEach(task -> configure(project, task, weave, rules, program, version));
        project.getTasks().withType(WeaveScoped.class).configureEach(task -> configure(project, task, weave, rules, program, version));
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
        project.getTasks().withType(Test.class).configureEach(test -> keepTraces(project, test));
        project.getTasks().withType(JavaExec.class).configureEach(run -> keepTraces(project, run));
        // Most builds weave no dependencies: what this costs each of them is left out.
        weave.beforeWoven(() -> {
            registerTransform(project, weave, rules, program, version);
            // Each jar is woven once for all projects, and leaves no report: an aspect may mean one of them.
            IdleAspects.add(project, () -> new File("dependencies"), named);
        });
    }

    private static void configure(Project project, WeaveSettings settings, WeaveExtension weave, Callable<List<File>> rules,
                                  Configuration program, String version) {
        settings.getRules().from(project.files(rules));
        settings.getPacks().set(weave.getPacks());
        settings.getStrict().set(weave.getStrict());
        settings.getExecutable().set(weave.getExecutable());
        settings.getProgramVersion().set(version);
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
                    t.dependsOn((Callable<List<Object>>) () -> compileTasks(project, sourceSet));
                });
            // Languages add their folders when their plug-ins are applied, in any order: what there is in the end is taken.
            whenEvaluated(project, () -> replace(project, weave, sourceSet, compiled, task, version, rules));
        });
        weave.onDependencies(() -> sourceSets.all(sourceSet -> {
            Configuration runtime = project.getConfigurations().getByName(sourceSet.getRuntimeClasspathConfigurationName());
            boolean isTest = sourceSet.getName().equals(SourceSet.TEST_SOURCE_SET_NAME);
            Object tested = isTest ? sourceSets.getByName(SourceSet.MAIN_SOURCE_SET_NAME).getOutput() : Collections.emptyList();
            sourceSet.setRuntimeClasspath(project.files(sourceSet.getOutput(), tested, weave.woven(runtime)));
            addRuntime(project, weave, sourceSet, version);
        }));
    }

    /** The source set's classes are the woven ones from here on; the compilers' stay where they are. */
    private static void replace(Project project, WeaveExtension weave, SourceSet sourceSet, ConfigurableFileCollection compiled,
                                TaskProvider<WeaveClasses> task, String version, Callable<String> rules) {
        if (!weave.getEnabled().get() || !weave.getSourceSets().get().contains(sourceSet.getName())) {
            return;
        }
        ConfigurableFileCollection classes = (ConfigurableFileCollection) sourceSet.getOutput().getClassesDirs();
        Set<Object> folders = new LinkedHashSet<>(classes.getFrom());
        compiled.from(folders);
        classes.setFrom(task.flatMap(WeaveClasses::getOutput));
        // Kotlin's plug-in packs its own folder into the jar, too, by another way.
        Object kotlin = sourceSet.getExtensions().findByName("kotlin");
        if (kotlin instanceof SourceDirectorySet && ((SourceDirectorySet) kotlin).getClassesDirectory() instanceof DirectoryProperty) {
            ((DirectoryProperty) ((SourceDirectorySet) kotlin).getClassesDirectory()).set(task.flatMap(WeaveClasses::getOutput));
        }
        project.getTasks().named(sourceSet.getClassesTaskName(), classesTask -> classesTask.dependsOn(task));
        addRuntime(project, weave, sourceSet, version);
        IdleAspects.add(project, () -> report(project, sourceSet).get().getAsFile(), rules);
    }

    private static Provider<RegularFile> report(Project project, SourceSet sourceSet) {
        return project.getLayout().getBuildDirectory().file("weave/" + sourceSet.getName() + ".idle");
    }

    /** Traces go where `clean` takes them, unless the user says where. The environment is no input: no task runs anew for it. */
    private static void keepTraces(Project project, ProcessForkOptions task) {
        boolean named = project.getProviders().environmentVariable(TRACE).isPresent() || task.getEnvironment().containsKey(TRACE);
        if (!named) {
            task.environment(TRACE, project.getLayout().getBuildDirectory().dir("weave/traces").get().getAsFile().getPath() + File.separator);
        }
    }

    private static void addRuntime(Project project, WeaveExtension weave, SourceSet sourceSet, String version) {
        if (weave.getAddRuntime().get()) {
            project.getDependencies().add(sourceSet.getRuntimeOnlyConfigurationName(), GROUP + ":weave-runtime:" + version);
        }
    }

    private static List<Object> compileTasks(Project project, SourceSet sourceSet) {
        Set<String> names = project.getTasks().getNames();
        List<Object> tasks = new ArrayList<>();
        for (String language : LANGUAGES) {
            String name = sourceSet.getCompileTaskName(language);
            if (names.contains(name)) {
                tasks.add(project.getTasks().named(name));
            }
        }
        return tasks;
    }

    private static void registerTransform(Project project, WeaveExtension weave, Callable<List<File>> rules, Configuration program,
                                          String version) {
        Attribute<String> type = ArtifactTypeDefinition.ARTIFACT_TYPE_ATTRIBUTE;
        project.getDependencies().getAttributesSchema().attribute(WOVEN);
        // Java's plug-ins make this type, and fail where it is there already: they may be applied after this one.
        project.getDependencies().getArtifactTypes().matching(artifact -> artifact.getName().equals(ArtifactTypeDefinition.JAR_TYPE))
            .all(artifact -> artifact.getAttributes().attribute(WOVEN, false));
        project.getDependencies().registerTransform(WeaveTransform.class, spec -> {
            spec.getFrom().attribute(WOVEN, false).attribute(type, ArtifactTypeDefinition.JAR_TYPE);
            spec.getTo().attribute(WOVEN, true).attribute(type, ArtifactTypeDefinition.JAR_TYPE);
            configure(project, spec.getParameters(), weave, rules, program, version);
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
