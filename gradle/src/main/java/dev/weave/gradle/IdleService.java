package dev.weave.gradle;

import dev.weave.build.IdleAspects;
import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.gradle.api.Project;
import org.gradle.api.provider.MapProperty;
import org.gradle.api.provider.Provider;
import org.gradle.api.services.BuildService;
import org.gradle.api.services.BuildServiceParameters;
import org.gradle.api.services.BuildServiceRegistration;

/**
 * Warns of aspects that put a hook nowhere, at the end of a build: one rules file may serve many projects, and most of its aspects
 * mean some of them. Each weave leaves a report of its idle aspects; an aspect that is idle in all of them is warned of.
 *
 * <p>Projects may load the plug-in by class loaders of their own. So they share the service as a {@code Consumer}, and its
 * parameters as a {@code MapProperty}, types that all loaders have.
 */
public abstract class IdleService implements BuildService<IdleService.Parameters>, Consumer<String>, AutoCloseable {
    private static final String NAME = "dev.weave.idleAspects";
    /** In front of a project's path, instead of a report: its dependencies, each of which has a report. */
    private static final String DEPENDENCIES = "dependencies of ";

    private final Set<String> woven = ConcurrentHashMap.newKeySet();
    private final Map<String, Set<Path>> dependencies = new ConcurrentHashMap<>();

    /** What is woven in this build. */
    public interface Parameters extends BuildServiceParameters {
        /** The rules files of each weave, a line each, by the path of its report. */
        MapProperty<String, String> getReports();
    }

    /** Adds a weave to those that this build has: an aspect is not idle before that one has a report, too. */
    static void add(Project project, Callable<File> report, Callable<String> rules) {
        Provider<Map<String, String>> one = project.provider(() -> Collections.singletonMap(report.call().getPath(), rules.call()));
        service(project);
        BuildServiceRegistration<?, ?> registration = project.getGradle().getSharedServices().getRegistrations().getByName(NAME);
        // Projects may be configured at the same time.
        synchronized (registration) {
            reports(registration.getParameters()).putAll(one);
        }
    }

    @SuppressWarnings("unchecked")
    private static MapProperty<String, String> reports(BuildServiceParameters parameters) {
        try {
            return (MapProperty<String, String>) parameters.getClass().getMethod("getReports").invoke(parameters);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Adds the dependencies of a project. */
    static void addDependencies(Project project, Callable<String> rules) {
        add(project, () -> new File(dependencies(project)), rules);
    }

    /** By which name the dependencies of a project are told of. */
    static String dependencies(Project project) {
        return DEPENDENCIES + project.getPath().replace(':', '.');
    }

    /** What to tell the service of a class path with woven dependencies. */
    static String found(String dependencies, Iterable<File> classPath) {
        StringBuilder found = new StringBuilder(dependencies);
        for (File file : classPath) {
            File report = IdleReports.besideJar(file);
            if (report.isFile()) {
                found.append('\n').append(report);
            }
        }
        return found.toString();
    }

    /** The service of this build, which takes the report of each weave that was done. Use it as a consumer alone. */
    static Provider<IdleService> service(Project project) {
        return project.getGradle().getSharedServices().registerIfAbsent(NAME, IdleService.class, spec -> { });
    }

    @Override
    public void accept(String report) {
        if (report.startsWith(DEPENDENCIES)) {
            String[] parts = report.split("\n");
            Set<Path> all = dependencies.computeIfAbsent(parts[0], key -> ConcurrentHashMap.newKeySet());
            Arrays.stream(parts).skip(1).map(Paths::get).forEach(all::add);
        } else {
            woven.add(report);
        }
    }

    @Override
    public void close() {
        Map<String, List<Path>> byRules = new TreeMap<>();
        Set<String> current = ConcurrentHashMap.newKeySet();
        getParameters().getReports().get().forEach((report, rules) -> {
            List<Path> all = byRules.computeIfAbsent(rules, key -> new ArrayList<>());
            // Dependencies are woven where something runs. Until then, an aspect may mean one of them.
            all.addAll(report.startsWith(DEPENDENCIES) && dependencies.containsKey(report) ? dependencies.get(report)
                : Collections.singleton(Paths.get(report)));
            if (woven.contains(report)) {
                current.add(rules);
            }
        });
        byRules.keySet().retainAll(current);
        byRules.forEach((rules, reports) -> IdleAspects.warn(Arrays.asList(rules.split("\n")), reports, new GradleConsole()));
    }
}
