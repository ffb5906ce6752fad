package java.nio.channels;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

public abstract class FileChannel {
    public static class MapMode {
        public static final MapMode READ_WRITE = null;
    }

    public abstract MemorySegment map(MapMode mode, long from, long size, Arena arena) throws IOException;
}
