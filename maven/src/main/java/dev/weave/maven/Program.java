package dev.weave.maven;

import dev.weave.build.Executable;
import dev.weave.build.Platform;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.maven.plugin.MojoExecutionException;
import org.apache.maven.plugin.MojoFailureException;
import org.apache.maven.plugin.logging.Log;
import org.eclipse.aether.artifact.DefaultArtifact;
import org.eclipse.aether.resolution.ArtifactRequest;
import org.eclipse.aether.resolution.ArtifactResolutionException;

/** Runs the program. */
final class Program {
    private final Log log;
    private final File file;

    Program(WeaveGoal goal) throws MojoExecutionException {
        log = goal.getLog();
        file = locate(goal);
        String found = run(Collections.singletonList("--version")).output.trim();
        if (!found.equals("weave " + goal.version)) {
            throw new MojoExecutionException("weave-maven-plugin " + goal.version + " needs weave " + goal.version + ", and " + file + " is "
                + found + ": take the plug-in of that version, or another program (<executable>, -Dweave.executable).");
        }
    }

    /** Weaves, and logs what the program says. Idle aspects are left to the caller. */
    Outcome weave(List<String> options, Path input, Path output, Path symbols) throws MojoExecutionException, MojoFailureException {
        List<String> arguments = new ArrayList<>(options);
        arguments.addAll(Arrays.asList("--no-runtime", "--json", "--message-format", "json", "--symbols", symbols.toString(),
            input.toString(), output.toString()));
        Result result = run(arguments);
        Outcome outcome = new Outcome(result.status, result.messages, result.status == 0 ? result.output : "");
        String error = outcome.log(log);
        if (result.status != 0) {
            throw new MojoFailureException("weave failed: " + (error != null ? error : "exit status " + result.status));
        }
        return outcome;
    }

    private static final class Result {
        int status;
        String output;
        String messages;
    }

    private Result run(List<String> arguments) throws MojoExecutionException {
        List<String> command = new ArrayList<>(Collections.singletonList(file.getPath()));
        command.addAll(arguments);
        log.debug(String.join(" ", command));
        try {
            Process process = new ProcessBuilder(command).start();
            process.getOutputStream().close();
            byte[][] messages = new byte[1][];
            Thread reader = new Thread(() -> messages[0] = all(process.getErrorStream()), "weave messages");
            reader.start();
            Result result = new Result();
            result.output = new String(all(process.getInputStream()), StandardCharsets.UTF_8);
            reader.join();
            result.messages = new String(messages[0], StandardCharsets.UTF_8);
            result.status = process.waitFor();
            return result;
        } catch (IOException e) {
            throw new MojoExecutionException("weave cannot be run from " + file + ": is it a program for this platform?", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new MojoExecutionException("weave was interrupted", e);
        }
    }

    private static byte[] all(InputStream in) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        byte[] buffer = new byte[8192];
        try {
            for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
                out.write(buffer, 0, n);
            }
        } catch (IOException e) {
            // The process ended: what it said until then counts.
        }
        return out.toByteArray();
    }

    /** Where the program is. */
    static File locate(WeaveGoal goal) throws MojoExecutionException {
        return goal.executable != null ? goal.executable : resolve(goal);
    }

    /** The program from the repositories, as a file that can be run: there it has no run bit. */
    private static File resolve(WeaveGoal goal) throws MojoExecutionException {
        String os = System.getProperty("os.name");
        String arch = System.getProperty("os.arch");
        String classifier = Platform.classifier(os, arch);
        String own = "build one (cargo install), and name it with <executable> or -Dweave.executable.";
        if (classifier == null) {
            throw new MojoExecutionException("There is no weave for " + os + " on " + arch + ": " + own);
        }
        ArtifactRequest request = new ArtifactRequest(new DefaultArtifact("dev.weave", "weave", classifier, "exe", goal.version),
            goal.project.getRemotePluginRepositories(), null);
        File program;
        try {
            program = goal.repositories.resolveArtifact(goal.session.getRepositorySession(), request).getArtifact().getFile();
        } catch (ArtifactResolutionException e) {
            throw new MojoExecutionException("The program dev.weave:weave:" + goal.version + ":" + classifier + "@exe is in no plug-in"
                + " repository: add the one that has it, or " + own, e);
        }
        try {
            return Executable.of(program, goal.state().resolve("program/weave"));
        } catch (IOException e) {
            throw new MojoExecutionException("weave cannot be copied to where it can be run: " + e, e);
        }
    }
}
