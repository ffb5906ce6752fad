package weave.runtime;

import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.SecureRandom;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * The file with a request. Only who can read the trace knows its name and what is in it, and only the user who runs the
 * program, and root, may have written it. Others may write to the folder: nothing is followed, and nothing is waited for.
 */
final class RequestFile {
    static final String SUFFIX = ".control";
    /** Bytes of the nonce; with the first half of it the file is named, and all of it stands in the file. */
    static final int NONCE = 16;
    private static final int MOST = 60_000;
    private static final String DIGITS = "0123456789abcdef";
    private static final String KNOWN = "unix:uid,size,isRegularFile,fileKey";

    final String nonce;
    private final File trace;
    private final File file;
    /** Who runs the program: the owner of the trace; null where a system does not say it so. */
    private Object own;

    RequestFile(File trace, byte[] nonce) {
        this.trace = trace;
        StringBuilder digits = new StringBuilder();
        for (byte b : nonce) {
            digits.append(DIGITS.charAt(b >> 4 & 15)).append(DIGITS.charAt(b & 15));
        }
        this.nonce = digits.toString();
        file = new File(trace.getPath() + '.' + digits.substring(0, NONCE) + SUFFIX);
    }

    /** Bytes that nobody can guess. The class library's source of them loads hundreds of classes. */
    static byte[] nonce() {
        byte[] nonce = new byte[NONCE];
        if (!Host.ANDROID) {
            try {
                InputStream in = new FileInputStream("/dev/urandom");
                try {
                    if (in.read(nonce) == NONCE) {
                        return nonce;
                    }
                } finally {
                    in.close();
                }
            } catch (IOException another) {
                // System has it elsewhere.
            }
        }
        new SecureRandom().nextBytes(nonce);
        return nonce;
    }

    /** Remembers who runs the program. */
    void open() {
        try {
            own = known(trace.toPath()).get("uid");
        } catch (Exception notUnix) {
            own = null;
        } catch (LinkageError oldAndroid) {
            own = null;
        }
    }

    /** What lies there, if it is a request file of the owner's; else null. */
    byte[] read() {
        try {
            return own == null ? readPlain() : readOwned(file.toPath());
        } catch (Exception gone) {
            return null;
        }
    }

    private byte[] readOwned(Path path) throws IOException {
        if (!file.exists()) {
            return null; // the usual case, which throws nothing
        }
        Map<String, Object> before = known(path);
        Object owner = before.get("uid");
        if (!Boolean.TRUE.equals(before.get("isRegularFile")) || !owner.equals(own) && !owner.equals(0)) {
            return null;
        }
        Set<OpenOption> options = new HashSet<OpenOption>();
        options.add(StandardOpenOption.READ);
        options.add(LinkOption.NOFOLLOW_LINKS);
        if (owner.equals(own)) {
            options.add(StandardOpenOption.WRITE); // so opened, a pipe that has come meanwhile does not block
        }
        ByteBuffer room = ByteBuffer.allocate(MOST + 1);
        SeekableByteChannel in = Files.newByteChannel(path, options);
        try {
            Map<String, Object> after = known(path);
            if (!before.get("fileKey").equals(after.get("fileKey")) || (Long) after.get("size") > MOST) {
                return null;
            }
            while (room.hasRemaining() && in.read(room) > 0) {
                continue;
            }
        } finally {
            in.close();
        }
        return whole(room.array(), room.position());
    }

    private static Map<String, Object> known(Path path) throws IOException {
        return Files.readAttributes(path, KNOWN, LinkOption.NOFOLLOW_LINKS);
    }

    /** Where a system has no owners by number, or an old Android no such classes: the nonce alone decides. */
    private byte[] readPlain() throws IOException {
        if (!file.isFile() || file.length() > MOST) {
            return null;
        }
        byte[] bytes = new byte[MOST + 1];
        int n = 0;
        InputStream in = new FileInputStream(file);
        try {
            for (int more; n < bytes.length && (more = in.read(bytes, n, bytes.length - n)) > 0;) {
                n += more;
            }
        } finally {
            in.close();
        }
        return whole(bytes, n);
    }

    private static byte[] whole(byte[] bytes, int length) {
        return length == 0 || length > MOST ? null : java.util.Arrays.copyOf(bytes, length);
    }

    void delete() {
        file.delete();
    }
}
