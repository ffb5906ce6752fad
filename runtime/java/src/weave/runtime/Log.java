package weave.runtime;

import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.concurrent.atomic.AtomicInteger;

/** Where the library says what is wrong: on the error stream, in a file, or nowhere. */
final class Log {
    /** So many bytes go to the error stream, which is half of a usual pipe: where nobody reads from it, a full one stops the program. */
    private static final int MOST_ON_ERROR_STREAM = 32 << 10;
    private static final String NO_MORE = "weave: further lines are not shown here (WEAVE_LOG names a file for them)";

    private static final AtomicInteger SHOWN = new AtomicInteger();

    private Log() {}

    /** An error stream of the program's may throw; a file that cannot be written has nobody to be told. */
    static void say(String message) {
        String path = Settings.logFile();
        if (path == null) {
            show("weave: " + message);
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

    private static void show(String line) {
        int length = Format.utf8(line, MOST_ON_ERROR_STREAM).length + 1;
        int all = SHOWN.addAndGet(length);
        if (all <= MOST_ON_ERROR_STREAM) {
            System.err.println(line);
        } else if (all - length <= MOST_ON_ERROR_STREAM) {
            System.err.println(NO_MORE);
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
