import java.io.File;
import java.util.Collections;
import org.jf.dexlib2.DexFileFactory;
import org.jf.dexlib2.Opcode;
import org.jf.dexlib2.Opcodes;
import org.jf.dexlib2.builder.MutableMethodImplementation;
import org.jf.dexlib2.builder.instruction.BuilderInstruction35c;
import org.jf.dexlib2.iface.DexFile;
import org.jf.dexlib2.iface.Method;
import org.jf.dexlib2.iface.MethodImplementation;
import org.jf.dexlib2.iface.reference.MethodReference;
import org.jf.dexlib2.immutable.ImmutableMethod;
import org.jf.dexlib2.immutable.reference.ImmutableMethodReference;
import org.jf.dexlib2.rewriter.DexRewriter;
import org.jf.dexlib2.rewriter.Rewriter;
import org.jf.dexlib2.rewriter.RewriterModule;
import org.jf.dexlib2.rewriter.Rewriters;
import org.jf.dexlib2.writer.io.FileDataStore;
import org.jf.dexlib2.writer.pool.DexPool;

/**
 * The bench's peer for dex files: one call without arguments at the start of every method, with dexlib2. That is less
 * than the weaver does. {@code DexlibPeer IN.dex OUT.dex} prints the methods, those it could not read, and the
 * seconds without the JVM's start.
 */
public final class DexlibPeer {
    private static final MethodReference HOOK =
            new ImmutableMethodReference("Lpeer/Hooks;", "enter", Collections.emptyList(), "V");

    private int methods;
    private int refused;

    public static void main(String[] args) throws Exception {
        long begun = System.nanoTime();
        DexlibPeer peer = new DexlibPeer();
        DexFile in = DexFileFactory.loadDexFile(new File(args[0]), Opcodes.forApi(29));
        DexFile out = new DexRewriter(peer.module()).getDexFileRewriter().rewrite(in);
        DexPool.writeTo(new FileDataStore(new File(args[1])), out);
        System.out.printf("%d %d %.3f%n", peer.methods, peer.refused, (System.nanoTime() - begun) / 1e9);
    }

    private RewriterModule module() {
        return new RewriterModule() {
            @Override
            public Rewriter<Method> getMethodRewriter(Rewriters rewriters) {
                return DexlibPeer.this::withHook;
            }
        };
    }

    private Method withHook(Method method) {
        MethodImplementation body = method.getImplementation();
        if (body == null) {
            return method;
        }
        methods++;
        MutableMethodImplementation woven;
        try {
            woven = new MutableMethodImplementation(body);
        } catch (RuntimeException e) {
            refused++; // invoke-polymorphic: this release does not know it here
            return method;
        }
        woven.addInstruction(0, new BuilderInstruction35c(Opcode.INVOKE_STATIC, 0, 0, 0, 0, 0, 0, HOOK));
        return new ImmutableMethod(
                method.getDefiningClass(), method.getName(), method.getParameters(), method.getReturnType(),
                method.getAccessFlags(), method.getAnnotations(), method.getHiddenApiRestrictions(), woven);
    }
}
