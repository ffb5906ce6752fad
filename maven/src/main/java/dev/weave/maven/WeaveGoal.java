package dev.weave.maven;

import dev.weave.build.Failure;
import dev.weave.build.Program;
import dev.weave.build.RulesInputs;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.maven.artifact.Artifact;
import org.apache.maven.execution.MavenSession;
import org.apache.maven.plugin.AbstractMojo;
import org.apache.maven.plugin.MojoExecutionException;
import org.apache.maven.plugin.MojoFailureException;
import org.apache.maven.project.MavenProject;
import org.eclipse.aether.RepositorySystem;
import org.eclipse.aether.artifact.DefaultArtifact;
import org.eclipse.aether.resolution.ArtifactRequest;
import org.eclipse.aether.resolution.ArtifactResolutionException;

/** What all goals have in common: the settings, and where rules and program come from. */
abstract class WeaveGoal extends AbstractMojo {
    private static final String RULES = "weave.toml";

    // Maven sets these by their names: packaging/maven_plugin.py describes them.
    MavenProject project;
    MavenSession session;
    RepositorySystem repositories;
    String version;
    boolean skip;
    boolean strict;
    List<File> rules;
    List<String> packs;
    List<File> references;
    List<String> arguments;
    File executable;
    File cache;

    private List<File> named;

    @Override
    public final void execute() throws MojoExecutionException, MojoFailureException {
        try {
            if (skip) {
                getLog().info("weave is skipped");
                skipped();
            } else {
                weave();
            }
        } catch (Failure e) {
            e.errors().forEach(getLog()::error);
            throw new MojoFailureException(e.getMessage() + (e.errors().isEmpty() ? "" : ": " + e.errors().get(0)), e.getCause());
        } catch (IOException e) {
            throw new MojoExecutionException("weave: " + e, e);
        }
    }

    /** Leaves everything as it was compiled. */
    void skipped() throws IOException { }

    abstract void weave() throws IOException, Failure;

    Path state() {
        return new File(project.getBuild().getDirectory(), "weave").toPath();
    }

    MavenTool tool() {
        return new MavenTool(getLog());
    }

    Program program() throws Failure {
        return executable != null ? Program.own(executable, version, tool()) : Program.fetched(fetched(), state().resolve("program/weave"), tool());
    }

    /** The program from the repositories. */
    private File fetched() throws Failure {
        String classifier = Program.classifier(tool());
        ArtifactRequest request = new ArtifactRequest(new DefaultArtifact("dev.weave", "weave", classifier, "exe", version),
            project.getRemotePluginRepositories(), null);
        try {
            return repositories.resolveArtifact(session.getRepositorySession(), request).getArtifact().getFile();
        } catch (ArtifactResolutionException e) {
            throw Program.absent(version, classifier, "plug-in repository", tool(), "", e);
        }
    }

    /** The program, for a question that is asked before anything is woven. */
    private File runnable() throws Failure {
        return executable != null ? executable : Program.runnable(fetched(), state().resolve("program/weave"));
    }

    /** The rules of the plug-in's configuration; else those beside the pom, or beside a parent's. */
    List<File> rulesFiles() throws Failure {
        if (rules != null && !rules.isEmpty()) {
            return rules;
        }
        if (!packs().isEmpty()) {
            return Collections.emptyList();
        }
        for (MavenProject at = project; at != null && at.getBasedir() != null; at = at.getParent()) {
            File file = new File(at.getBasedir(), RULES);
            if (file.isFile()) {
                return Collections.singletonList(file);
            }
        }
        throw new Failure("There are no rules to weave by: put a weave.toml beside pom.xml (`weave init` writes one), or"
            + " name others with <rules> or <packs>.");
    }

    private List<String> packs() {
        return packs == null ? Collections.emptyList() : packs;
    }

    /** The options that say how to weave. */
    List<String> options() throws Failure {
        List<String> options = Program.rules(rulesFiles(), packs(), strict);
        options.add("--no-runtime");
        if (arguments != null) {
            options.addAll(arguments);
        }
        return options;
    }

    /** What the rules include, and the libraries that they name. */
    private List<File> rulesInputs() throws Failure {
        if (named == null) {
            named = RulesInputs.of(rulesFiles(), this::runnable);
        }
        return named;
    }

    /** What an output follows from, beside what is woven. */
    Inputs inputs(List<File> classPath) throws IOException, Failure {
        Inputs inputs = new Inputs().text(version).texts(options());
        for (File file : rulesFiles()) {
            inputs.content(file.toPath());
        }
        for (File other : rulesInputs()) {
            inputs.library(other);
        }
        if (executable != null) {
            inputs.state(executable.toPath());
        }
        for (File reference : classPath) {
            inputs.state(reference.toPath());
        }
        return inputs;
    }

    /** Where base types of rules with `extends` are looked up. */
    List<File> classPath() {
        List<File> all = references == null ? new ArrayList<>() : new ArrayList<>(references);
        project.getArtifacts().stream().map(Artifact::getFile).filter(f -> f != null && f.exists()).forEach(all::add);
        return all;
    }

    /** Whether an output follows from what it was made of then. The class path is part of that only where the rules asked for it. */
    boolean isCurrent(Path kept) throws IOException, Failure {
        return Files8.holds(kept, inputs(Collections.emptyList()).toString())
            || Files.exists(kept) && Files8.holds(kept, inputs(classPath()).toString());
    }

    /** The rules files and packs, by which modules of a build have the same ones. */
    List<String> rulesNames() throws Failure {
        return Program.rulesNames(rulesFiles(), packs());
    }

    /** Woven classes call the hook library: without it they do not run. */
    void needHookLibrary() throws Failure {
        Set<String> versions = project.getArtifacts().stream()
            .filter(a -> a.getGroupId().equals("dev.weave") && a.getArtifactId().equals("weave-runtime"))
            .map(Artifact::getBaseVersion).collect(Collectors.toSet());
        if (versions.isEmpty()) {
            throw new Failure("Woven classes need the hook library: add the dependency dev.weave:weave-runtime:" + version
                + " to " + project.getArtifactId() + ".");
        }
        if (!versions.contains(version)) {
            throw new Failure("weave-maven-plugin " + version + " needs dev.weave:weave-runtime:" + version + ", and "
                + project.getArtifactId() + " has " + String.join(", ", versions) + ".");
        }
    }
}
