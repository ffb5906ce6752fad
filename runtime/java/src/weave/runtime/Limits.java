package weave.runtime;

import java.io.BufferedReader;
import java.io.File;
import java.io.FileReader;
import java.io.IOException;
import java.nio.file.Files;

/** How large a trace may grow where nobody says so: what disk and container can spare. */
final class Limits {
    static final int USER = 0;
    static final int USUAL = 1;
    static final int FREE_ROOM = 2;
    static final int CONTAINER = 3;

    static final long LEAST = 1 << 20;
    private static final long NONE = 1L << 60;

    long limit;
    int by = USUAL;
    /** Why it is smaller than usual. */
    String reason;

    /** {@code root} is where the system's own files are: {@code /}. */
    Limits(long usual, File folder, File root) {
        limit = usual;
        while (folder != null && !folder.isDirectory()) {
            folder = folder.getParentFile();
        }
        if (folder == null) {
            return;
        }
        long room = folder.getUsableSpace();
        if (room > 0 || folder.getTotalSpace() > 0) {
            atMost(room / 2, FREE_ROOM, "half of the free room of its file system");
        }
        if (inMemory(folder)) {
            container(root);
        }
    }

    private void atMost(long most, int by, String reason) {
        if (most < limit) {
            limit = most;
            this.by = by;
            this.reason = reason;
        }
    }

    private static boolean inMemory(File folder) {
        try {
            String type = Files.getFileStore(folder.toPath()).type();
            return type.equals("tmpfs") || type.equals("ramfs");
        } catch (Throwable unknown) {
            return false;
        }
    }

    /** A file system that keeps files in memory takes them from the container's. */
    void container(File root) {
        try {
            String path2 = null;
            String path1 = null;
            BufferedReader in = new BufferedReader(new FileReader(new File(root, "proc/self/cgroup")));
            try {
                for (String line; (line = in.readLine()) != null;) {
                    String[] parts = line.split(":", 3);
                    if (parts.length == 3 && parts[0].equals("0") && parts[1].isEmpty()) {
                        path2 = parts[2];
                    } else if (parts.length == 3 && (',' + parts[1] + ',').contains(",memory,")) {
                        path1 = parts[2];
                    }
                }
            } finally {
                in.close();
            }
            long max = NONE;
            long used = 0;
            if (path1 != null) {
                File mount = new File(root, "sys/fs/cgroup/memory");
                File group = new File(mount, path1);
                group = group.isDirectory() ? group : mount; // as a container sees its own
                max = number(new File(group, "memory.limit_in_bytes"), NONE);
                used = number(new File(group, "memory.usage_in_bytes"), 0);
            } else if (path2 != null) {
                File mount = new File(root, "sys/fs/cgroup");
                File group = new File(mount, path2);
                for (; group != null && group.getPath().startsWith(mount.getPath()); group = group.getParentFile()) {
                    long here = number(new File(group, "memory.max"), NONE);
                    if (here < max) {
                        max = here;
                        used = number(new File(group, "memory.current"), 0);
                    }
                }
            }
            if (max < NONE) {
                atMost(max / 4, CONTAINER, "a quarter of the container's memory, in which its file system keeps files");
                atMost(Math.max(0, max - used) / 4, CONTAINER,
                    "a quarter of the memory that the container has left, in which its file system keeps files");
            }
        } catch (Exception unknown) {
            // then the rest has to do
        }
    }

    private static long number(File file, long otherwise) {
        try {
            BufferedReader in = new BufferedReader(new FileReader(file));
            try {
                return Math.min(Long.parseLong(in.readLine().trim()), NONE);
            } finally {
                in.close();
            }
        } catch (IOException absent) {
            return otherwise;
        } catch (RuntimeException max) {
            return otherwise;
        }
    }
}
