package weave.runtime;

import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;

/**
 * The file as a growing number of mapped chunks. Whoever lets it grow holds {@link #gate}, the supplier's thread only while it
 * reserves a piece, not while it writes it: nobody waits for a whole piece. Each step of reserving changes a field last, so that it can be
 * taken again when an interrupt, a lack of memory or {@code Thread.stop} ends it.
 */
final class TraceFile {
    /** So much is reserved at once ahead of need; who is in need reserves one chunk. */
    static final int PIECE = 4 * Format.CHUNK;

    private static final long FIRST_MAP = 1 << 20;
    private static final long LAST_MAP = 16 << 20;
    /** Who writes a trace holds the lock of the byte here, far behind the data. A consumer holds that of the next. */
    static final long WRITER = 1L << 62;

    private static final int PAGE = 4_096;
    private static final int INTERRUPTS = 100;
    private static final int NAMES = 10_000;
    private static final String CHANGED = "the file was moved or changed by somebody else";

    /** Each file that this process writes has a property of this name and its own, which all copies of the library see. */
    private static final String OWN = "weave.trace.file:";

    final Gate gate = new Gate();
    final File path;
    private final long limit;
    /** What tells the file from others that may get its name; null where nothing does. */
    private final Object key;
    /** Open as long as the process lives, but for interrupts: the lock goes with it. */
    private RandomAccessFile file;
    /** For writing ahead: whose position is nobody else's. */
    private RandomAccessFile aheadFile;
    /** The last map; it may reach further than what is reserved. */
    private ByteBuffer map;
    private long mapStart;
    private long mapSize = FIRST_MAP;
    /** What is reserved and mapped. */
    private volatile long size;
    private byte[] zeros;
    /** Why the file grows no more although its limit is not reached, or null. */
    volatile String trouble;

    private TraceFile(File path, long limit) {
        this.path = path;
        this.limit = limit;
        key = Private.key(path);
    }

    /** Creates a file; if there is one of that name, one with a number behind its name. */
    static TraceFile create(File wanted, long limit) throws IOException {
        File folder = wanted.getParentFile();
        Private.folder(folder);
        String name = wanted.getName();
        int dot = name.endsWith(".wtrace") ? name.length() - ".wtrace".length() : name.length();
        for (int n = 1; n < NAMES; n++) {
            String next = n == 1 ? name : name.substring(0, dot) + '-' + n + name.substring(dot);
            File file = new File(folder, next);
            if (Private.file(file)) {
                announce(file);
                return new TraceFile(file, limit);
            }
        }
        throw new IOException("there are " + NAMES + " of that name");
    }

    /** Lets the other copies of the library in this process know that this file must not be opened. */
    private static void announce(File file) {
        try {
            System.setProperty(OWN + file.getCanonicalPath(), "");
        } catch (IOException unknown) {
            // then Keep finds out by the lock
        } catch (SecurityException forbidden) {
            // the same
        }
    }

    /** To open and close a file frees the process's locks of it (POSIX). */
    static boolean own(File file) throws IOException {
        return System.getProperty(OWN + file.getCanonicalPath()) != null;
    }

    /** Whether the file may still grow. */
    boolean mayGrow() {
        return trouble == null && limit - size >= Format.CHUNK;
    }

    /**
     * At most so many bytes of further chunks, all zero, little-endian; null if there are none, now or for ever. The caller
     * holds the gate.
     */
    ByteBuffer grow(int most) {
        return grow(most, null);
    }

    /** The same for the supplier's thread, which holds the gate only for a moment: meanwhile others let the file grow on behind. */
    ByteBuffer growAhead(int most, Thread self) {
        return grow(most, self);
    }

    private ByteBuffer grow(int most, Thread ahead) {
        if (!mayGrow()) {
            return null;
        }
        Object disk = Host.beginDisk();
        try {
            if (ahead != null) {
                return ahead(most, ahead);
            }
            ByteBuffer piece = reserve(most);
            return piece == null ? null : fill(file, piece, size - piece.capacity(), null);
        } catch (Exception e) {
            trouble = e.getMessage() != null ? e.getMessage() : e.toString();
            return null;
        } finally {
            Host.endDisk(disk);
        }
    }

    private ByteBuffer ahead(int most, Thread self) throws IOException {
        if (aheadFile == null) {
            aheadFile = open();
        }
        ByteBuffer piece = null;
        long end;
        try {
            if (gate.enter(self, false) && mayGrow()) {
                piece = reserve(most);
            }
            end = size;
        } finally {
            if (gate.owner == self) {
                gate.owner = null;
            }
        }
        return piece == null ? null : fill(aheadFile, piece, end - piece.capacity(), self);
    }

    /** The first map lets the program wait, so the quickest way is taken; the others make buffers that are quicker to write to. */
    private ByteBuffer map(long want) throws IOException {
        FileChannel channel = file.getChannel();
        if (size == 0 && Host.LOOM && !Switch.COLLECTIBLE) {
            try {
                return Java22.map(channel, size, want);
            } catch (LinkageError before22) {
                // then the next way
            }
        }
        return channel.map(FileChannel.MapMode.READ_WRITE, size, want);
    }

    /** Another file that has the name by now is somebody else's, and stays as it is. */
    private RandomAccessFile open() throws IOException {
        if (!isOwn()) {
            throw new IOException(CHANGED);
        }
        RandomAccessFile opened = new RandomAccessFile(path, "rw");
        if (!isOwn()) { // it came in between
            opened.close();
            throw new IOException(CHANGED);
        }
        return opened;
    }

    private boolean isOwn() {
        return key == null || key.equals(Private.key(path));
    }

    /** A part of a map that is nobody else's from here on. Nothing is written yet, and nothing may be touched. */
    private ByteBuffer reserve(int most) throws IOException {
        // A channel closes itself when its thread is interrupted, which is none of its business here.
        boolean interrupted = false;
        try {
            for (int i = 0; i < INTERRUPTS; i++) {
                interrupted |= Thread.interrupted();
                try {
                    return part(most);
                } catch (IOException e) {
                    // Whatever is said of a channel that an interrupt has closed.
                    if (file == null || file.getChannel().isOpen()) {
                        throw e;
                    }
                    file = null;
                }
            }
            return null;
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private ByteBuffer part(int most) throws IOException {
        if (path.length() < size) {
            throw new IOException(CHANGED);
        }
        if (file == null) {
            RandomAccessFile next = open();
            try {
                next.getChannel().tryLock(WRITER, 1, false);
            } catch (IOException unsupported) {
                // then others see by the header's flag alone whether it is still written
            } catch (OverlappingFileLockException stillClosing) {
                // by the interrupting thread, the channel before this one; the same
            }
            file = next;
        }
        if (map == null || size == mapStart + map.capacity()) {
            long want = Math.min(mapSize, (limit - size) / Format.CHUNK * Format.CHUNK);
            ByteBuffer next = map(want);
            mapStart = size;
            mapSize = Math.min(2 * mapSize, LAST_MAP);
            map = next;
        }
        if (zeros == null) {
            zeros = new byte[Format.CHUNK];
        }
        int from = (int) (size - mapStart);
        int want = Math.min(most, map.capacity() - from);
        ByteBuffer piece = map.duplicate();
        piece.limit(from + want);
        piece.position(from);
        piece = piece.slice().order(ByteOrder.LITTLE_ENDIAN);
        size += want;
        return piece;
    }

    /**
     * Really writes zeros, and touches each page: a page that the disk has no room for would fault when it is touched, and the
     * first touch takes time that the program's threads need not spend. {@code ahead} is null if the gate is held.
     */
    private ByteBuffer fill(RandomAccessFile out, ByteBuffer piece, long start, Thread ahead) throws IOException {
        int written = 0;
        out.seek(start);
        try {
            for (; written < piece.capacity(); written += zeros.length) {
                out.write(zeros);
            }
        } catch (IOException e) {
            shrink(start + piece.capacity(), start + written, ahead);
            if (written == 0) {
                throw e;
            }
            trouble = e.getMessage();
            piece.limit(written);
            piece = piece.slice().order(ByteOrder.LITTLE_ENDIAN);
        }
        for (int at = 0; at < written; at += PAGE) {
            piece.putLong(at, 0);
        }
        return piece;
    }

    /** The disk is full: cuts off what could not be written, unless others have gone on behind it. */
    private void shrink(long end, long to, Thread ahead) {
        try {
            if ((ahead == null || gate.enter(ahead, false)) && size == end) {
                size = to;
                file.setLength(to);
            }
        } catch (IOException mapped) {
            // Windows leaves it as it is.
        } finally {
            if (ahead != null && gate.owner == ahead) {
                gate.owner = null;
            }
        }
    }
}
