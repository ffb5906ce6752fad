package weave.runtime;

import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;

/** The file as a growing number of mapped chunks. Not for several threads at once. */
final class TraceFile {
    private static final long FIRST_STEP = 1 << 20;
    private static final long LAST_STEP = 16 << 20;
    private static final int INTERRUPTS = 8;
    private static final int NAMES = 10_000;

    final File path;
    private final long limit;
    private long size;
    private long step = FIRST_STEP;
    /** Why the file grows no more although its limit is not reached, or null. */
    String trouble;

    private TraceFile(File path, long limit) {
        this.path = path;
        this.limit = limit;
    }

    /** Creates a file; if there is one of that name, one with a number behind its name. */
    static TraceFile create(File wanted, long limit) throws IOException {
        if (limit < 2 * Format.CHUNK) {
            throw new IOException("the limit is below " + 2 * Format.CHUNK + " bytes");
        }
        File folder = wanted.getParentFile();
        if (folder != null) {
            folder.mkdirs();
        }
        String name = wanted.getName();
        int dot = name.endsWith(".wtrace") ? name.length() - ".wtrace".length() : name.length();
        for (int n = 1; n < NAMES; n++) {
            String next = n == 1 ? name : name.substring(0, dot) + '-' + n + name.substring(dot);
            File file = new File(folder, next);
            if (file.createNewFile()) {
                return new TraceFile(file, limit);
            }
        }
        throw new IOException("there are " + NAMES + " of that name");
    }

    /** More chunks, all zero, little-endian; null if there are none to be had, now and for ever. */
    ByteBuffer grow() {
        long room = (limit - size) / Format.CHUNK * Format.CHUNK;
        long want = Math.min(step, room);
        if (want <= 0 || trouble != null) {
            return null;
        }
        step = Math.min(2 * step, LAST_STEP);
        // A channel closes itself when its thread is interrupted, which is none of its business here.
        boolean interrupted = false;
        Object disk = Host.beginDisk();
        try {
            for (int i = 0;; i++) {
                interrupted |= Thread.interrupted();
                try {
                    return reserve(want);
                } catch (ClosedByInterruptException e) {
                    if (i == INTERRUPTS) {
                        throw e;
                    }
                }
            }
        } catch (Exception e) {
            trouble = e.getMessage() != null ? e.getMessage() : e.toString();
            return null;
        } finally {
            Host.endDisk(disk);
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /**
     * Really writes the zeros before mapping them: a page that the disk has no room for would kill the process when it
     * is touched.
     */
    private ByteBuffer reserve(long want) throws IOException {
        if (path.length() != size) {
            throw new IOException("the file was moved or changed by somebody else");
        }
        RandomAccessFile file = new RandomAccessFile(path, "rw");
        try {
            byte[] zeros = new byte[Format.CHUNK];
            long written = 0;
            file.seek(size);
            try {
                for (; written < want; written += zeros.length) {
                    file.write(zeros);
                }
            } catch (IOException e) {
                file.setLength(size + written);
                if (written == 0) {
                    throw e;
                }
                trouble = e.getMessage();
            }
            ByteBuffer map = file.getChannel().map(FileChannel.MapMode.READ_WRITE, size, written);
            size += written;
            return map.order(ByteOrder.LITTLE_ENDIAN);
        } finally {
            file.close();
        }
    }
}
