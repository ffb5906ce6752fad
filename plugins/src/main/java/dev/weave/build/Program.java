package dev.weave.build;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.stream.Collectors;

/** The program: where it is, and how it is run. */
public final class Program {
    private final File file;
    private final BuildTool tool;

    private Program(File file, BuildTool tool) {
        this.file = file;
        this.tool = tool;
    }

    /** A program of one's own, which must have the plug-in's version. */
    public static Program own(File file, String version, BuildTool tool) throws Failure {
        Program program = new Program(file, tool);
        String found = program.run(Collections.singletonList("--version")).output.trim();
        if (!found.equals("weave " + version)) {
            throw new Failure("This plug-in needs weave " + version + ", and " + file + " is " + found
                + ": take the plug-in of that version, or another program (" + tool.executableSetting() + ").");
        }
        return program;
    }

    /** The program from a repository, which has the version that was asked for. It is copied where it cannot get the run bit. */
    public static Program fetched(File file, Path copy, BuildTool tool) throws Failure {
        return new Program(runnable(file, copy), tool);
    }

    /** The program from a repository as a file that can be run: there it has no run bit. */
    public static File runnable(File file, Path copy) throws Failure {
        if (file.canExecute() || file.setExecutable(true)) {
            return file;
        }
        try {
            Files.createDirectories(copy.getParent());
            Files.copy(file.toPath(), copy, StandardCopyOption.REPLACE_EXISTING);
        } catch (IOException e) {
            throw new Failure("weave cannot be copied to where it can be run: " + e, e);
        }
        copy.toFile().setExecutable(true);
        return copy.toFile();
    }

    /** The classifier of the program for this platform. */
    public static String classifier(BuildTool tool) throws Failure {
        String os = System.getProperty("os.name");
        String arch = System.getProperty("os.arch");
        String classifier = Platform.classifier(os, arch);
        if (classifier == null) {
            throw new Failure("There is no weave for " + os + " on " + arch + ": " + buildOne(tool));
        }
        return classifier;
    }

    /** The program is in none of the repositories that a build tool looks into. */
    public static Failure absent(String version, String classifier, String repositories, BuildTool tool, String why, Throwable cause) {
        return new Failure("The program dev.weave:weave:" + version + ":" + classifier + "@exe is in no " + repositories
            + ": add the one that has it, or " + buildOne(tool) + why, cause);
    }

    private static String buildOne(BuildTool tool) {
        return "build one (cargo install), and name it with " + tool.executableSetting() + ".";
    }

    /** The options that name rules, and say how strict they are. */
    public static List<String> rules(Collection<File> files, Collection<String> packs, boolean strict) {
        List<String> options = new ArrayList<>();
        for (String rules : rulesNames(files, packs)) {
            options.add("--rules");
            options.add(rules);
        }
        if (strict) {
            options.add("--strict");
        }
        return options;
    }

    /** Rules files and packs, as options of the program name them. */
    public static List<String> rulesNames(Collection<File> files, Collection<String> packs) {
        List<String> names = files.stream().map(File::getPath).collect(Collectors.toList());
        packs.forEach(pack -> names.add(IdleAspects.PACK + pack));
        return names;
    }

    /** The options that name references, in a file: a command line of Windows has not room for all. */
    public static List<String> references(Collection<File> classPath, Path list) throws IOException {
        List<String> paths = classPath.stream().filter(File::exists).map(File::getPath).collect(Collectors.toList());
        if (paths.isEmpty()) {
            return Collections.emptyList();
        }
        Files.createDirectories(list.getParent());
        Files.write(list, paths, StandardCharsets.UTF_8);
        return Arrays.asList("--reference", "@" + list);
    }

    /** Weaves, and tells what the program warns of. Idle aspects are left to the caller. */
    public Outcome weave(List<String> options, File input, File output) throws Failure {
        List<String> arguments = new ArrayList<>(options);
        arguments.addAll(Arrays.asList("--json", "--message-format", "json", input.getPath(), output.getPath()));
        Ran ran = run(arguments);
        Outcome outcome = new Outcome(ran, tool);
        if (ran.status != 0) {
            throw new Failure("weave failed (exit status " + ran.status + ")", outcome.errors(tool));
        }
        outcome.warn(tool);
        return outcome;
    }

    private Ran run(List<String> arguments) throws Failure {
        List<String> command = new ArrayList<>(Collections.singletonList(file.getPath()));
        command.addAll(arguments);
        tool.detail(String.join(" ", command));
        try {
            return tool.run(command);
        } catch (IOException e) {
            throw new Failure("weave cannot be run from " + file + ": is it a program for this platform?", e);
        }
    }
}
