import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipInputStream;

/**
 * Counts, with a reader that shares nothing with the weaver: {@code java Methods.java [--root DIR] [--list FILE]
 * ARTIFACT...} prints for each artifact {@code artifact TAB classes TAB methods-with-code TAB hooked TAB class-bytes},
 * hooked being methods whose code holds a call of {@code weave.runtime.Hooks.enter}. The hook library is left out.
 */
public final class Methods {
    long classes;
    long methods;
    long hooked;
    long classBytes;

    public static void main(String[] args) throws IOException {
        String root = "";
        List<String> artifacts = new ArrayList<>();
        for (int i = 0; i < args.length; i++) {
            if (args[i].equals("--root")) {
                root = args[++i] + File.separator;
            } else if (args[i].equals("--list")) {
                artifacts.addAll(Files.readAllLines(Path.of(args[++i])));
            } else {
                artifacts.add(args[i]);
            }
        }
        StringBuilder out = new StringBuilder();
        for (String artifact : artifacts) {
            Methods count = new Methods();
            try (ZipFile zip = new ZipFile(root + artifact)) {
                for (ZipEntry entry : Collections.list(zip.entries())) {
                    if (wanted(entry.getName())) {
                        try (InputStream in = zip.getInputStream(entry)) {
                            count.add(entry.getName(), in.readAllBytes());
                        }
                    }
                }
            }
            out.append(artifact).append('\t').append(count.classes).append('\t').append(count.methods).append('\t')
                .append(count.hooked).append('\t').append(count.classBytes).append('\n');
        }
        System.out.print(out);
    }

    static boolean wanted(String member) {
        return member.endsWith(".class") || member.endsWith(".jar");
    }

    void add(String member, byte[] bytes) throws IOException {
        if (member.endsWith(".jar")) {
            try (ZipInputStream zip = new ZipInputStream(new ByteArrayInputStream(bytes))) {
                for (ZipEntry entry; (entry = zip.getNextEntry()) != null; ) {
                    if (wanted(entry.getName())) {
                        add(entry.getName(), zip.readAllBytes());
                    }
                }
            }
        } else if (bytes.length > 10 && bytes[0] == (byte) 0xca && bytes[1] == (byte) 0xfe) {
            addClass(new DataInputStream(new ByteArrayInputStream(bytes)), bytes.length);
        }
    }

    /** JVMS 4.1: the pool, then fields and methods; of attributes only Code (4.7.3). */
    private void addClass(DataInputStream in, int length) throws IOException {
        in.readInt();
        in.readInt();
        int size = in.readUnsignedShort();
        Object[] pool = new Object[size];
        for (int i = 1; i < size; i++) {
            int tag = in.readUnsignedByte();
            switch (tag) {
                case 1:
                    pool[i] = in.readUTF();
                    break;
                case 7:
                case 8:
                case 16:
                case 19:
                case 20:
                    pool[i] = new int[] {tag, in.readUnsignedShort(), 0};
                    break;
                case 15:
                    in.readUnsignedByte();
                    in.readUnsignedShort();
                    break;
                case 5:
                case 6:
                    in.readLong();
                    i++;
                    break;
                default:
                    pool[i] = new int[] {tag, in.readUnsignedShort(), in.readUnsignedShort()};
            }
        }
        in.readUnsignedShort();
        String name = (String) pool[((int[]) pool[in.readUnsignedShort()])[1]];
        if (name.startsWith("weave/runtime/")) {
            return;
        }
        int enter = 0;
        for (int i = 1; i < size; i++) {
            if (pool[i] instanceof int[] && ((int[]) pool[i])[0] == 10) {
                int[] owner = (int[]) pool[((int[]) pool[i])[1]];
                int[] called = (int[]) pool[((int[]) pool[i])[2]];
                if (pool[owner[1]].equals("weave/runtime/Hooks") && pool[called[1]].equals("enter")) {
                    enter = i;
                }
            }
        }
        classes++;
        classBytes += length;
        in.readUnsignedShort();
        in.skipBytes(2 * in.readUnsignedShort());
        for (int kind = 0; kind < 2; kind++) {
            for (int n = in.readUnsignedShort(); n > 0; n--) {
                in.skipBytes(6);
                for (int a = in.readUnsignedShort(); a > 0; a--) {
                    Object attribute = pool[in.readUnsignedShort()];
                    byte[] data = in.readNBytes(in.readInt());
                    if (kind == 1 && "Code".equals(attribute)) {
                        addCode(data, enter);
                    }
                }
            }
        }
    }

    private void addCode(byte[] data, int enter) {
        methods++;
        // Versions before 45.3 have a shorter head; none of the corpora's classes is that old.
        int length = (data[4] & 0xff) << 24 | (data[5] & 0xff) << 16 | (data[6] & 0xff) << 8 | data[7] & 0xff;
        for (int i = 8; enter != 0 && i < 8 + length - 2; i++) {
            if (data[i] == (byte) 0xb8 && ((data[i + 1] & 0xff) << 8 | data[i + 2] & 0xff) == enter) {
                hooked++;
                return;
            }
        }
    }
}
