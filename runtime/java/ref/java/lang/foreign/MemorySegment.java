package java.lang.foreign;

import java.nio.ByteBuffer;

public interface MemorySegment {
    ByteBuffer asByteBuffer();
}
