package dev.weave.gradle;

import dev.weave.build.Executable;
import dev.weave.build.Platform;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.gradle.api.GradleException;
import org.gradle.api.logging.Logger;
import org.gradle.api.logging.Logging;
import org.gradle.process.ExecOperations;
import org.gradle.process.ExecResult;

/** Runs the program. */
final class Program {
    private static final Logger LOGGER = Logging.getLogger(Program.class);

    private Program() { }

    /** Weaves {@code input} to {@code output}, and logs what the program warns of. Idle aspects are left to the caller. */
    static Outcome weave(ExecOperations exec, WeaveSettings settings, File temporary, File input, File output, List<String> more) {
        File program = find(settings, temporary);
        if (settings.getExecutable().isPresent()) {
            // The one from the repositories has the version that was asked for.
            checkVersion(exec, program, settings.getProgramVersion().get());
        }
        List<String> arguments = new ArrayList<>();
        Set<File> rules = settings.getRules().getFiles();
        if (rules.isEmpty() && settings.getPacks().get().isEmpty()) {
            throw new GradleException("There are no rules to weave by: put a weave.toml beside the build script (`weave init`"
                + " writes one), or name others with weave { rules.from(..) } or weave { packs.add(\"all\") }.");
        }
        for (File file : rules) {
            arguments.add("--rules");
            arguments.add(file.getPath());
        }
        for (String pack : settings.getPacks().get()) {
            arguments.add("--rules");
            arguments.add("pack:" + pack);
        }
        if (settings.getStrict().get()) {
            arguments.add("--strict");
        }
        arguments.addAll(Arrays.asList("--json", "--message-format", "json"));
        arguments.addAll(more);
        arguments.add(input.getPath());
        arguments.add(output.getPath());
        Result result = run(exec, program, arguments);
        Outcome outcome = new Outcome(result.messages, result.status == 0 ? result.output : "");
        if (result.status != 0) {
            throw new GradleException("weave failed (exit status " + result.status + "):" + outcome.errors());
        }
        outcome.warn(LOGGER);
        return outcome;
    }

    /** Logs the aspects that put a hook nowhere in what was woven. */
    static void warnOfIdle(Outcome outcome) {
        outcome.idle().forEach(message -> LOGGER.warn("weave: {}", message));
    }

    private static void checkVersion(ExecOperations exec, File program, String wanted) {
        String version = run(exec, program, Collections.singletonList("--version")).output.trim();
        if (!version.equals("weave " + wanted)) {
            throw new GradleException("This plug-in needs weave " + wanted + ", and " + program + " is " + version
                + ": take the plug-in of that version, or another program (weave { executable = file(..) }).");
        }
    }

    /** Options that name references, in a file: a command line of Windows has not room for all. */
    static List<String> references(Set<File> all, File temporary) {
        List<String> paths = all.stream().filter(File::exists).map(File::getPath).collect(Collectors.toList());
        if (paths.isEmpty()) {
            return Collections.emptyList();
        }
        try {
            Path list = temporary.toPath().resolve("references.txt");
            Files.createDirectories(temporary.toPath());
            Files.write(list, paths, StandardCharsets.UTF_8);
            return Arrays.asList("--reference", "@" + list);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static final class Result {
        final int status;
        final String output;
        final String messages;

        Result(int status, ByteArrayOutputStream output, ByteArrayOutputStream messages) {
            this.status = status;
            this.output = new String(output.toByteArray(), StandardCharsets.UTF_8);
            this.messages = new String(messages.toByteArray(), StandardCharsets.UTF_8);
        }
    }

    private static Result run(ExecOperations exec, File program, List<String> arguments) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream messages = new ByteArrayOutputStream();
        try {
            ExecResult result = exec.exec(spec -> {
                spec.setExecutable(program.getPath());
                spec.args(arguments);
                spec.setStandardOutput(out);
                spec.setErrorOutput(messages);
                spec.setIgnoreExitValue(true);
            });
            return new Result(result.getExitValue(), out, messages);
        } catch (RuntimeException e) {
            throw new GradleException("weave cannot be run from " + program + ": is it a program for this platform?", e);
        }
    }

    /** The program, for a question that is asked before a task begins. */
    static File runnable(WeaveSettings settings) throws IOException {
        if (settings.getExecutable().isPresent()) {
            return settings.getExecutable().get().getAsFile();
        }
        File program = settings.getProgram().getSingleFile();
        return program.canExecute() || program.setExecutable(true) ? program : find(settings, Files.createTempDirectory("weave").toFile());
    }

    /** The program as a file that can be run: those from repositories have no run bit. */
    private static File find(WeaveSettings settings, File temporary) {
        if (settings.getExecutable().isPresent()) {
            return settings.getExecutable().get().getAsFile();
        }
        String own = "build one (cargo install), and name it with weave { executable = file(..) } or -Pweave.executable.";
        String classifier = Platform.classifier(System.getProperty("os.name"), System.getProperty("os.arch"));
        if (classifier == null) {
            throw new GradleException("There is no weave for " + System.getProperty("os.name") + " on " + System.getProperty("os.arch")
                + ": " + own);
        }
        File program;
        try {
            program = settings.getProgram().getSingleFile();
        } catch (RuntimeException e) {
            // Not as the cause: Gradle would show that one alone.
            Throwable why = e.getCause() == null ? e : e.getCause();
            throw new GradleException("The program " + WeavePlugin.GROUP + ":weave:" + settings.getProgramVersion().get() + ":" + classifier
                + "@exe is in no repository of the project: add the one that has it, or " + own + " A project's own `repositories` are taken"
                + " instead of those of settings, unless settings say so (repositoriesMode).\n" + why.getMessage());
        }
        try {
            return Executable.of(program, temporary.toPath().resolve("weave"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
