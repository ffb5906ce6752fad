import java.io.BufferedOutputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassTooLargeException;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodTooLargeException;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.commons.AdviceAdapter;

/**
 * The bench's peer: enter, exit and exception hooks in every method but static initialisers, with ASM.
 * {@code AsmPeer THREADS IN.jar OUT.jar}. Classes are woven on so many threads, and packed on one. Maxima are recomputed, frames expanded and written anew: what
 * ASM's AdviceAdapter asks for.
 */
public final class AsmPeer {
    private static final String HOOKS = "weave/runtime/Hooks";

    private record Done(ZipEntry entry, byte[] bytes) {}

    public static void main(String[] args) throws Exception {
        int threads = Integer.parseInt(args[0]);
        ExecutorService workers = Executors.newFixedThreadPool(threads, task -> {
            Thread thread = new Thread(task);
            thread.setDaemon(true); // a failure ends the run
            return thread;
        });
        try (ZipFile in = new ZipFile(args[1]);
            OutputStream file = new BufferedOutputStream(Files.newOutputStream(Path.of(args[2])), 1 << 20);
            ZipOutputStream out = new ZipOutputStream(file)) {
            List<? extends ZipEntry> entries = Collections.list(in.entries());
            ArrayDeque<Future<Done>> ahead = new ArrayDeque<>();
            for (ZipEntry entry : entries) {
                byte[] bytes = in.getInputStream(entry).readAllBytes();
                ahead.add(workers.submit(() -> new Done(entry, entry.getName().endsWith(".class") ? woven(bytes) : bytes)));
                while (ahead.size() > 4096 || !ahead.isEmpty() && ahead.peek().isDone()) {
                    write(out, ahead.poll().get());
                }
            }
            for (Future<Done> rest : ahead) {
                write(out, rest.get());
            }
        }
        workers.shutdown();
    }

    private static void write(ZipOutputStream out, Done done) throws Exception {
        ZipEntry entry = new ZipEntry(done.entry.getName());
        entry.setTime(done.entry.getTime());
        out.putNextEntry(entry);
        out.write(done.bytes);
        out.closeEntry();
    }

    private static byte[] woven(byte[] bytes) {
        ClassReader reader = new ClassReader(bytes);
        if ((reader.getAccess() & Opcodes.ACC_MODULE) != 0) {
            return bytes;
        }
        ClassWriter writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
        try {
            reader.accept(new Weaver(writer), ClassReader.EXPAND_FRAMES);
            return writer.toByteArray();
        } catch (MethodTooLargeException | ClassTooLargeException tooLarge) {
            return bytes;
        }
    }

    private static final class Weaver extends ClassVisitor {
        private String type;
        private int major;

        Weaver(ClassVisitor next) {
            super(Opcodes.ASM9, next);
        }

        @Override
        public void visit(int version, int access, String name, String signature, String parent, String[] interfaces) {
            type = name;
            major = version & 0xffff;
            super.visit(version, access, name, signature, parent, interfaces);
        }

        @Override
        public MethodVisitor visitMethod(int access, String name, String descriptor, String signature, String[] thrown) {
            MethodVisitor next = super.visitMethod(access, name, descriptor, signature, thrown);
            boolean hasCode = (access & (Opcodes.ACC_ABSTRACT | Opcodes.ACC_NATIVE)) == 0;
            return hasCode && !name.equals("<clinit>") ? new Hooks(next, access, name, descriptor, type, major) : next;
        }
    }

    private static final class Hooks extends AdviceAdapter {
        private final Label begin = new Label();
        private final String type;
        private final int major;
        private final int id;
        private boolean begun;

        Hooks(MethodVisitor next, int access, String name, String descriptor, String type, int major) {
            super(Opcodes.ASM9, next, access, name, descriptor);
            this.type = type;
            this.major = major;
            id = 31 * type.hashCode() + 17 * name.hashCode() + descriptor.hashCode();
        }

        private void call(String hook, String descriptor) {
            push(id);
            // Past AdviceAdapter, which would count the stack of code that it did not see.
            mv.visitMethodInsn(INVOKESTATIC, HOOKS, hook, descriptor, false);
        }

        @Override
        protected void onMethodEnter() {
            call("enter", "(I)V");
            begun = true;
            mv.visitLabel(begin);
        }

        @Override
        protected void onMethodExit(int opcode) {
            if (opcode != ATHROW) {
                call("exit", "(I)V");
            }
        }

        @Override
        public void visitMaxs(int stack, int locals) {
            if (begun) {
                Label handler = mark();
                mv.visitTryCatchBlock(begin, handler, handler, "java/lang/Throwable");
                if (major >= V1_6) {
                    mv.visitFrame(F_NEW, 0, null, 1, new Object[] {"java/lang/Throwable"});
                }
                mv.visitInsn(DUP);
                call("error", "(Ljava/lang/Throwable;I)V");
                mv.visitInsn(ATHROW);
            }
            super.visitMaxs(stack, locals);
        }
    }
}
