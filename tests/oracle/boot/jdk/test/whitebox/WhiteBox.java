package jdk.test.whitebox;

import java.lang.reflect.Executable;

/** What HotSpot offers to a class of this name with {@code -XX:+WhiteBoxAPI}: to compile a method now. */
public final class WhiteBox {
    static {
        registerNatives();
    }

    private static native void registerNatives();

    private native boolean enqueueMethodForCompilation0(Executable method, int level, int bci);

    public boolean compiles(Executable method, int level) {
        return enqueueMethodForCompilation0(method, level, -1);
    }
}
