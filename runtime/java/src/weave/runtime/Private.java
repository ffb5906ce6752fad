package weave.runtime;

import static java.nio.file.attribute.PosixFilePermission.OWNER_EXECUTE;
import static java.nio.file.attribute.PosixFilePermission.OWNER_READ;
import static java.nio.file.attribute.PosixFilePermission.OWNER_WRITE;

import java.io.File;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;

/** Makes files and folders that only their owner may read: command lines and messages of exceptions are in a trace. */
final class Private {
    private Private() {}

    /** Makes a folder and those above it that are missing. */
    static void folder(File folder) {
        if (folder == null || folder.isDirectory()) {
            return;
        }
        folder(folder.getParentFile());
        try {
            Files.createDirectory(folder.toPath(), mode(OWNER_READ, OWNER_WRITE, OWNER_EXECUTE));
        } catch (Exception notPosix) {
            folder.mkdir();
        } catch (LinkageError oldAndroid) {
            folder.mkdir();
        }
    }

    /** Makes a file; false if there is one. */
    static boolean file(File file) throws IOException {
        try {
            Files.createFile(file.toPath(), mode(OWNER_READ, OWNER_WRITE));
            return true;
        } catch (FileAlreadyExistsException e) {
            return false;
        } catch (UnsupportedOperationException notPosix) {
            return file.createNewFile();
        } catch (IOException e) {
            return file.createNewFile(); // whose message says why it cannot be
        } catch (LinkageError oldAndroid) {
            return file.createNewFile();
        }
    }

    /** What tells a file from all others, whatever their names; null where that is not known. */
    static Object key(File file) {
        try {
            return Files.readAttributes(file.toPath(), BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS).fileKey();
        } catch (Exception gone) {
            return null;
        } catch (LinkageError oldAndroid) {
            return null;
        }
    }

    private static FileAttribute<Set<PosixFilePermission>> mode(PosixFilePermission... owner) {
        return PosixFilePermissions.asFileAttribute(new HashSet<PosixFilePermission>(Arrays.asList(owner)));
    }
}
