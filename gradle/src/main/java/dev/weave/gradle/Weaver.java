package dev.weave.gradle;

import dev.weave.build.BuildTool;
import dev.weave.build.Failure;
import dev.weave.build.Outcome;
import dev.weave.build.Program;
import dev.weave.build.Ran;
import groovy.json.JsonSlurper;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.gradle.api.GradleException;
import org.gradle.process.ExecOperations;
import org.gradle.process.ExecResult;

/** Weaves as the settings of a task or the transform say. */
final class Weaver extends GradleConsole implements BuildTool {
    private final ExecOperations exec;
    private final WeaveSettings settings;
    private final File temporary;

    /** The folder is for what this weave needs and leaves nobody. */
    Weaver(ExecOperations exec, WeaveSettings settings, File temporary) {
        this.exec = exec;
        this.settings = settings;
        this.temporary = temporary;
    }

    /** Weaves {@code input} to {@code output}, and tells what the program warns of. Idle aspects are left to the caller. */
    Outcome weave(File input, File output, List<String> more, Collection<File> references) {
        try {
            Program program = program();
            List<String> options = Program.rules(rules(), settings.getPacks().get(), settings.getStrict().get());
            options.addAll(more);
            options.addAll(Program.references(references, temporary.toPath().resolve("references.txt")));
            return program.weave(options, input, output);
        } catch (Failure e) {
            throw failed(e);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Set<File> rules() throws Failure {
        Set<File> rules = settings.getRules().getFiles();
        if (rules.isEmpty() && settings.getPacks().get().isEmpty()) {
            throw new Failure("There are no rules to weave by: put a weave.toml beside the build script (`weave init`"
                + " writes one), or name others with weave { rules.from(..) } or weave { packs.add(\"all\") }.");
        }
        return rules;
    }

    /** The rules files and packs by their names. */
    List<String> rulesNames() {
        return Program.rulesNames(settings.getRules().getFiles(), settings.getPacks().get());
    }

    private Program program() throws Failure {
        if (settings.getExecutable().isPresent()) {
            return Program.own(settings.getExecutable().get().getAsFile(), settings.getProgramVersion().get(), this);
        }
        String classifier = Program.classifier(this);
        File file;
        try {
            file = settings.getProgram().getSingleFile();
        } catch (RuntimeException e) {
            // Not as the cause: Gradle would show that one alone.
            Throwable why = e.getCause() == null ? e : e.getCause();
            throw Program.absent(settings.getProgramVersion().get(), classifier, "repository of the project", this,
                " A project's own `repositories` are taken instead of those of settings, unless settings say so (repositoriesMode).\n"
                + why.getMessage(), null);
        }
        return Program.fetched(file, temporary.toPath().resolve("weave"), this);
    }

    /** The program, for a question that is asked before a task begins. */
    static File runnable(WeaveSettings settings) throws IOException, Failure {
        if (settings.getExecutable().isPresent()) {
            return settings.getExecutable().get().getAsFile();
        }
        File file = settings.getProgram().getSingleFile();
        return file.canExecute() || file.setExecutable(true) ? file : Program.runnable(file, File.createTempFile("weave", ".exe").toPath());
    }

    private static GradleException failed(Failure failure) {
        List<String> lines = new ArrayList<>();
        lines.add(failure.getMessage());
        lines.addAll(failure.errors());
        return new GradleException(String.join("\n", lines), failure.getCause());
    }

    @Override
    public Ran run(List<String> command) throws IOException {
        ByteArrayOutputStream output = new ByteArrayOutputStream();
        ByteArrayOutputStream messages = new ByteArrayOutputStream();
        try {
            ExecResult result = exec.exec(spec -> {
                spec.commandLine(command);
                spec.setStandardOutput(output);
                spec.setErrorOutput(messages);
                spec.setIgnoreExitValue(true);
            });
            return new Ran(result.getExitValue(), output, messages);
        } catch (RuntimeException e) {
            throw new IOException(e);
        }
    }

    @Override
    public Map<?, ?> object(String json) {
        return (Map<?, ?>) new JsonSlurper().parseText(json);
    }

    @Override
    public String executableSetting() {
        return "weave { executable = file(..) } or -Pweave.executable";
    }
}
