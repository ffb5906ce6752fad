package weave.runtime;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;

/** What only Java 22 and later have; compiled against {@code ref}. Where it is not there, calling it throws a LinkageError. */
final class Java22 {
    private Java22() {}

    /**
     * Maps a part of a file for good. The older way is reflection inside the JDK, which by its first call takes tens of
     * milliseconds of a start.
     */
    static ByteBuffer map(FileChannel channel, long from, long size) throws IOException {
        return channel.map(FileChannel.MapMode.READ_WRITE, from, size, Arena.global()).asByteBuffer();
    }
}
