package dev.weave.maven;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Which folder the last build had as the project's output. Plug-ins that pack it look at times alone: where it becomes another folder,
 * whose files are older than the jar, they would leave the jar as it is.
 */
final class LastOutput {
    static final String WOVEN = "woven";
    static final String COMPILED = "compiled";

    private LastOutput() { }

    /** Notes what the output is; answers whether the build before had the other. */
    static boolean becomes(Path state, String output) throws IOException {
        Path file = state.resolve("output");
        if (Files8.holds(file, output)) {
            return false;
        }
        boolean other = Files.exists(file);
        if (other || output.equals(WOVEN)) {
            Files8.write(file, output);
        }
        return other;
    }
}
