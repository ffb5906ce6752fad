package dev.weave.build;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/** The program from a repository, as a file that can be run: there it has no run bit. */
public final class Executable {
    private Executable() { }

    /** The program itself, or a copy where it cannot get the bit. */
    public static File of(File program, Path copy) throws IOException {
        if (program.canExecute() || program.setExecutable(true)) {
            return program;
        }
        Files.createDirectories(copy.getParent());
        Files.copy(program.toPath(), copy, StandardCopyOption.REPLACE_EXISTING);
        copy.toFile().setExecutable(true);
        return copy.toFile();
    }
}
