package dev.weave.maven;

import dev.weave.build.Failure;
import dev.weave.build.IdleAspects;
import dev.weave.build.Outcome;
import dev.weave.build.Program;
import java.io.File;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.maven.project.MavenProject;

/**
 * Weaves a folder of classes into one of its own, which is the project's output folder from then on: what follows in a build reads it
 * there. The compiler's folder stays as it is, so that the next build, its compiler and other plug-ins find there what they left.
 */
abstract class ClassesGoal extends WeaveGoal {
    /** The folder that is the project's output: the compilers' until it is set. */
    abstract File folder();

    /** Makes another folder the output of a project. */
    abstract void setFolder(MavenProject project, File folder);

    /** What the folder is called in the build's own folder. */
    abstract String kind();

    /** The goal's name. */
    abstract String goal();

    /** The name that the classes have in traces and rules. */
    abstract String artifactName();

    @Override
    final void weave() throws IOException, Failure {
        long begun = System.nanoTime();
        IdleReports.lookAtTheEnd(session, getLog());
        Path classes = compiled();
        Contents present = Contents.of(classes);
        Path report = IdleReports.report(project, goal());
        if (!present.hasClasses()) {
            getLog().debug("no classes in " + classes);
            if (!project.getPackaging().equals("pom")) {
                IdleAspects.nothing(report);
            }
            return;
        }
        Path state = state().resolve(kind());
        Path woven = state.resolve("woven").resolve(artifactName());
        // Most builds end here: this is to take no longer than a look at each file.
        if (isCurrent(state, woven, present) && Files8.holds(state.resolve("resources"), present.others())) {
            getLog().info("Nothing to weave - all classes are up to date");
            getLog().debug("looked at all classes in " + (System.nanoTime() - begun) / 1000 + " us");
        } else {
            Files.createDirectories(state);
            try (FileChannel channel = FileChannel.open(state.resolve("lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
                FileLock lock = channel.tryLock();
                if (lock == null) {
                    getLog().info("another build weaves " + classes + ", an IDE perhaps: waiting for it");
                    lock = channel.lock();
                }
                weave(classes, state, woven);
            }
        }
        if (LastOutput.becomes(state, LastOutput.WOVEN)) {
            Files8.touchOne(woven);
            Files8.write(state.resolve("stamp"), Files8.lines(woven, ""));
        }
        setFolder(project, woven.toFile());
        // In a lifecycle that a goal forked (spring-boot:run), this project is a copy of the one that the goal runs on.
        for (MavenProject other : session.getAllProjects()) {
            if (other.getId().equals(project.getId())) {
                setFolder(other, woven.toFile());
            }
        }
    }

    /** The compilers' folder, also where an earlier goal of this build has set the output already, of this project or a copy. */
    private Path compiled() {
        String key = "dev.weave.compiled." + kind() + "." + project.getId();
        synchronized (session.getRequest()) {
            return (Path) session.getRequest().getData().computeIfAbsent(key, absent -> folder().toPath());
        }
    }

    /** Whether what is there was woven of these files, in this way, and is as it was then. */
    private boolean isCurrent(Path state, Path woven, Contents present) throws IOException, Failure {
        return Files8.holds(state.resolve("compiled"), present.code()) && isCurrent(state.resolve("inputs"))
            && Files8.holds(state.resolve("stamp"), Files8.lines(woven, ""));
    }

    private void weave(Path classes, Path state, Path woven) throws IOException, Failure {
        // Another build may have changed it meanwhile.
        Contents present = Contents.of(classes);
        if (isCurrent(state, woven, present)) {
            // Plug-ins may write resources anew in each build: that is no reason to weave.
            present.copyOthers(classes, woven, state.resolve("resources"));
            Files8.write(state.resolve("stamp"), Files8.lines(woven, ""));
            getLog().info("Nothing to weave - all classes are up to date");
            return;
        }
        needHookLibrary();
        Program program = program();
        Path symbols = state().resolve(kind() + ".wsym");
        Files.deleteIfExists(state.resolve("stamp"));
        Files.deleteIfExists(symbols);
        // The name that the classes have in traces is the input folder's.
        Path input = state.resolve("compiled classes").resolve(artifactName());
        Files8.sync(classes, input);
        Files8.removeOthers(woven, input);
        List<String> options = options();
        options.addAll(Arrays.asList("--symbols", symbols.toString()));
        options.addAll(Program.references(classPath(), state.resolve("references")));
        Outcome outcome = program.weave(options, input.toFile(), woven.toFile());
        Files8.deleteAll(input);
        if (outcome.alreadyWoven() > 0) {
            Files8.deleteAll(woven);
            throw new Failure(outcome.alreadyWoven() + " methods in " + classes + " were woven before this goal: by another"
                + " execution or plug-in, or by weave-maven-plugin 0.1.0, which wove there. Let one of them weave these classes, and start again"
                + " with `mvn clean`.");
        }
        IdleReports.woven(session, IdleReports.report(project, goal()), rulesNames(), outcome);
        Files8.write(state.resolve("compiled"), present.code());
        Files8.write(state.resolve("resources"), present.others());
        Files8.write(state.resolve("inputs"), inputs(outcome.asksForBaseTypes() ? classPath() : Collections.emptyList()).toString());
        Files8.write(state.resolve("stamp"), Files8.lines(woven, ""));
        getLog().info("Wove " + classes);
    }

    @Override
    final void skipped() throws IOException {
        if (Files.isDirectory(state())) {
            IdleAspects.nothing(IdleReports.report(project, goal()));
        }
        Path classes = compiled();
        if (Files.isDirectory(classes) && LastOutput.becomes(state().resolve(kind()), LastOutput.COMPILED)) {
            Files8.touchOne(classes);
        }
    }
}
