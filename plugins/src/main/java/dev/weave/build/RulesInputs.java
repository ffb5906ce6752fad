package dev.weave.build;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
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
            Process process = new ProcessBuilder(command).redirectError(discard()).start();
            process.getOutputStream().close();
            String told = all(process.getInputStream());
            List<File> files = new ArrayList<>();
            if (process.waitFor() == 0) {
                for (String line : told.split("\\R")) {
                    File file = new File(line);
                    if (!line.isEmpty() && !present.contains(file)) {
                        files.add(file);
                    }
                }
            }
            // Of rules that are wrong, the weave tells.
            return files;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Collections.emptyList();
        } catch (Exception e) {
            // And of a program that is not there.
            return Collections.emptyList();
        }
    }

    private static ProcessBuilder.Redirect discard() {
        return ProcessBuilder.Redirect.to(new File(File.separatorChar == '\\' ? "NUL" : "/dev/null"));
    }

    private static String text(File file) {
        try {
            return new String(Files.readAllBytes(file.toPath()), StandardCharsets.UTF_8);
        } catch (IOException e) {
            return "";
        }
    }

    private static String all(InputStream in) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        byte[] buffer = new byte[8192];
        for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
            out.write(buffer, 0, n);
        }
        return new String(out.toByteArray(), StandardCharsets.UTF_8);
    }
}
