package dev.weave.maven;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import org.apache.maven.artifact.Artifact;
import org.apache.maven.plugin.MojoExecutionException;
import org.apache.maven.plugin.MojoFailureException;

/** Weaves jars that the project depends on, all in one weave. The goals that follow take the woven ones. */
public class WeaveDependenciesMojo extends WeaveGoal {
    List<String> dependencies;

    @Override
    void weave() throws IOException, MojoExecutionException, MojoFailureException {
        if (dependencies == null || dependencies.isEmpty()) {
            throw new MojoFailureException("weave-dependencies needs to know which: <dependencies><dependency>org.postgresql:*</dependency>"
                + "</dependencies> (group:artifact, `*` for any characters).");
        }
        IdleAspects.lookAtTheEnd(session, getLog());
        Map<String, Artifact> jars = jars();
        Path report = IdleAspects.report(project, "weave-dependencies");
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
            IdleAspects.woven(session, report, rulesNames(), outcome.idle());
            Files8.write(state.resolve("jars"), files.toString());
            Files8.write(state.resolve("stamp"), inputs(outcome.asksForBaseTypes() ? classPath() : Collections.emptyList()).toString());
        }
        jars.forEach((name, artifact) -> artifact.setFile(woven.resolve(name).toFile()));
    }

    private Outcome weave(Map<String, Artifact> jars, Path state, Path woven)
            throws IOException, MojoExecutionException, MojoFailureException {
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
        addReferences(options, classPath(), state.resolve("references"));
        Outcome outcome = program.weave(options, unwoven, woven, state().resolve("dependencies.wsym"));
        Files8.deleteAll(unwoven);
        if (outcome.alreadyWoven() > 0) {
            throw new MojoFailureException(outcome.alreadyWoven() + " methods of the dependencies are woven already: leave those jars out of <dependencies>.");
        }
        getLog().info("Wove " + String.join(", ", jars.keySet()));
        return outcome;
    }

    /** The jars that the patterns mean, by the names that they get. Modules of this build weave their own classes. */
    private Map<String, Artifact> jars() throws MojoFailureException {
        List<Pattern> patterns = new ArrayList<>();
        for (String pattern : dependencies) {
            if (pattern.split(":", -1).length != 2) {
                throw new MojoFailureException("weave: <dependency>" + pattern + "</dependency>: write group:artifact, such as org.postgresql:*");
            }
            patterns.add(Pattern.compile(Pattern.quote(pattern).replace("*", "\\E.*\\Q")));
        }
        Map<String, Artifact> jars = new TreeMap<>();
        for (Artifact artifact : project.getArtifacts()) {
            String name = artifact.getGroupId() + ":" + artifact.getArtifactId();
            boolean meant = patterns.stream().anyMatch(pattern -> pattern.matcher(name).matches());
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
