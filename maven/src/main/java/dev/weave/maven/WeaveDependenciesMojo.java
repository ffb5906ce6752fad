package dev.weave.maven;

import dev.weave.build.Failure;
import dev.weave.build.IdleAspects;
import dev.weave.build.Modules;
import dev.weave.build.Outcome;
import dev.weave.build.Program;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.maven.artifact.Artifact;

/** Weaves jars that the project depends on, all in one weave. The goals that follow take the woven ones. */
public class WeaveDependenciesMojo extends WeaveGoal {
    List<String> dependencies;

    @Override
    void weave() throws IOException, Failure {
        if (dependencies == null || dependencies.isEmpty()) {
            throw new Failure("weave-dependencies needs to know which: <dependencies><dependency>org.postgresql:*</dependency>"
                + "</dependencies> (group:artifact, `*` for any characters).");
        }
        IdleReports.lookAtTheEnd(session, getLog());
        Map<String, Artifact> jars = jars();
        Path report = IdleReports.report(project, "weave-dependencies");
        if (jars.isEmpty()) {
            IdleAspects.nothing(report);
            getLog().warn("no dependency of " + project.getArtifactId() + " is one of " + String.join(", ", dependencies));
            return;
        }
        needHookLibrary();
        Inputs files = new Inputs();
        for (Map.Entry<String, Artifact> jar : jars.entrySet()) {
            files.text(jar.getKey()).state(jar.getValue().getFile().toPath());
        }
        Path state = state().resolve("dependencies");
        Path woven = state.resolve("woven");
        boolean current = Files8.holds(state.resolve("jars"), files.toString()) && isCurrent(state.resolve("stamp"))
            && jars.keySet().stream().allMatch(name -> Files.isRegularFile(woven.resolve(name)));
        if (current) {
            getLog().info("Nothing to weave - all dependencies are up to date");
        } else {
            Outcome outcome = weave(jars, state, woven);
            IdleReports.woven(session, report, rulesNames(), outcome);
            Files8.write(state.resolve("jars"), files.toString());
            Files8.write(state.resolve("stamp"), inputs(outcome.asksForBaseTypes() ? classPath() : Collections.emptyList()).toString());
        }
        jars.forEach((name, artifact) -> artifact.setFile(woven.resolve(name).toFile()));
    }

    private Outcome weave(Map<String, Artifact> jars, Path state, Path woven)
            throws IOException, Failure {
        Program program = program();
        Path unwoven = state.resolve("unwoven");
        Files.deleteIfExists(state.resolve("stamp"));
        Files8.deleteAll(unwoven);
        Files8.deleteAll(woven);
        for (Map.Entry<String, Artifact> jar : jars.entrySet()) {
            Files8.copy(jar.getValue().getFile().toPath(), unwoven.resolve(jar.getKey()));
        }
        List<String> options = options();
        if (cache != null) {
            options.add("--cache");
            options.add(cache.getPath());
        }
        options.addAll(Arrays.asList("--symbols", state().resolve("dependencies.wsym").toString()));
        options.addAll(Program.references(classPath(), state.resolve("references")));
        Outcome outcome = program.weave(options, unwoven.toFile(), woven.toFile());
        Files8.deleteAll(unwoven);
        if (outcome.alreadyWoven() > 0) {
            throw new Failure(outcome.alreadyWoven() + " methods of the dependencies are woven already: leave those jars out of <dependencies>.");
        }
        getLog().info("Wove " + String.join(", ", jars.keySet()));
        return outcome;
    }

    /** The jars that the patterns mean, by the names that they get. Modules of this build weave their own classes. */
    private Map<String, Artifact> jars() throws Failure {
        Modules modules = new Modules();
        for (String pattern : dependencies) {
            if (!modules.add(pattern)) {
                throw new Failure("weave: <dependency>" + pattern + "</dependency>: write group:artifact, such as org.postgresql:*");
            }
        }
        Map<String, Artifact> jars = new TreeMap<>();
        for (Artifact artifact : project.getArtifacts()) {
            boolean meant = modules.mean(artifact.getGroupId(), artifact.getArtifactId());
            boolean ofThisBuild = session.getProjects().stream()
                .anyMatch(p -> p.getGroupId().equals(artifact.getGroupId()) && p.getArtifactId().equals(artifact.getArtifactId()));
            File file = artifact.getFile();
            if (meant && !ofThisBuild && file != null && file.isFile() && file.getName().endsWith(".jar")) {
                String free = jars.containsKey(file.getName()) ? artifact.getGroupId() + "-" + file.getName() : file.getName();
                jars.put(free, artifact);
            }
        }
        return jars;
    }
}
