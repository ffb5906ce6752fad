package weave.runtime;

import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;

/** Where the library says what is wrong: on the error stream, in a file, or nowhere. */
final class Log {
    private Log() {}

    /** An error stream of the program's may throw; a file that cannot be written has nobody to be told. */
    static void say(String message) {
        String path = Settings.logFile();
        if (path == null) {
            System.err.println("weave: " + message);
            return;
        }
        if (path.isEmpty()) {
            return;
        }
        try {
            append(new File(path).getAbsoluteFile(), ("weave: " + message + System.lineSeparator()).getBytes("UTF-8"));
        } catch (IOException e) {
            // There is nobody to tell.
        } catch (SecurityException e) {
            // As above.
        }
    }

    private static void append(File file, byte[] line) throws IOException {
        // Messages are in it; and a pipe would wait for its reader.
        if (Private.file(file) || file.isFile()) {
            OutputStream out = new FileOutputStream(file, true);
            try {
                out.write(line);
            } finally {
                out.close();
            }
        }
    }
}
