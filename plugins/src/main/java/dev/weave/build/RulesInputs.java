package dev.weave.build;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;

/**
 * The files that rules are made of, besides themselves: those that they include, and libraries of own hooks. What is woven follows from
 * them, too. The program alone reads rules: it is asked where they may name other files.
 */
public final class RulesInputs {
    private RulesInputs() { }

    /** Where the program is. It is asked for only if it is needed. */
    public interface Locator {
        File program() throws Exception;
    }

    public static List<File> of(Collection<File> rules, Locator locator) {
        List<File> present = new ArrayList<>();
        boolean others = false;
        for (File file : rules) {
            if (file.isFile()) {
                present.add(file);
                String text = text(file);
                others |= text.contains("library") || text.contains("include");
            }
        }
        if (!others) {
            return Collections.emptyList();
        }
        List<String> command = new ArrayList<>();
        try {
            command.add(locator.program().getPath());
            command.add("inputs");
            for (File file : present) {
                command.add("--rules");
                command.add(file.getAbsolutePath());
            }
            Ran ran = Ran.of(command);
            List<File> files = new ArrayList<>();
            if (ran.status == 0) {
                for (String line : ran.output.split("\\R")) {
                    File file = new File(line);
                    if (!line.isEmpty() && !present.contains(file)) {
                        files.add(file);
                    }
                }
            }
            // Of rules that are wrong, the weave tells.
            return files;
        } catch (Exception e) {
            // And of a program that is not there.
            return Collections.emptyList();
        }
    }

    private static String text(File file) {
        try {
            return new String(Files.readAllBytes(file.toPath()), StandardCharsets.UTF_8);
        } catch (IOException e) {
            return "";
        }
    }
}
