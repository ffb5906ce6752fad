package weave.runtime;

import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.regex.Pattern;

/** Deletes old traces. One is over if its header says so, or nobody holds its writer's lock. */
final class Keep {
    private static final int HEAD = 40;
    /** Files of this process all the same: somebody has replaced the properties. Closing them would free their locks. */
    private static final List<RandomAccessFile> HELD = Collections.synchronizedList(new ArrayList<RandomAccessFile>());

    private static final class Old implements Comparable<Old> {
        final File file;
        final long started;

        Old(File file, long started) {
            this.file = file;
            this.started = started;
        }

        @Override
        public int compareTo(Old other) {
            return started < other.started ? -1 : started > other.started ? 1 : file.compareTo(other.file);
        }
    }

    private Keep() {}

    /** Keeps so many of the pattern's traces, among them {@code own}, and those that are being written. */
    static void sweep(File own, Pattern names, long keep) throws IOException {
        File[] all = own.getParentFile().listFiles();
        if (all == null) {
            throw new IOException("the folder cannot be listed");
        }
        List<Old> over = new ArrayList<Old>();
        long live = 1;
        for (File file : all) {
            if (!file.equals(own) && names.matcher(file.getName()).matches()
                && Files.isRegularFile(file.toPath(), LinkOption.NOFOLLOW_LINKS)) {
                long started = TraceFile.own(file) ? -1 : over(file);
                if (started > 0) {
                    over.add(new Old(file, started));
                } else if (started < 0) {
                    live++;
                }
            }
        }
        Collections.sort(over);
        for (long n = Math.min(over.size(), live + over.size() - keep); n > 0; n--) {
            File file = over.remove(0).file;
            if (!file.delete() && file.exists()) {
                throw new IOException(file + " cannot be deleted");
            }
        }
    }

    /** When a trace that is over was started; -1 if it is still being written; 0 if it is no trace. */
    private static long over(File path) {
        try {
            RandomAccessFile file = new RandomAccessFile(path, "rw");
            try {
                return over(file);
            } catch (OverlappingFileLockException own) {
                HELD.add(file);
                file = null;
                return -1;
            } finally {
                if (file != null) {
                    file.close();
                }
            }
        } catch (IOException unreadable) {
            return 0;
        }
    }

    private static long over(RandomAccessFile file) throws IOException {
        byte[] head = new byte[HEAD];
        file.readFully(head);
        ByteBuffer b = ByteBuffer.wrap(head).order(ByteOrder.LITTLE_ENDIAN);
        if (b.getLong(0) != Format.FILE_MAGIC) {
            return 0;
        }
        long started = Math.max(1, b.getLong(16));
        if ((b.getInt(36) & Header.ENDED) != 0) {
            return started;
        }
        FileLock lock = file.getChannel().tryLock(TraceFile.WRITER, 1, false);
        if (lock == null) {
            return -1;
        }
        lock.release();
        return started;
    }
}
