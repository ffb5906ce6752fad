package weave.runtime;

/**
 * Keeps what is written to mapped memory in order for those who read it meanwhile, other processes among them. Processors with a
 * weak memory model (AArch64) show plain stores in any order, also around a volatile read. docs/runtime-java.md has the argument.
 */
final class Fence {
    private static final boolean NINE = nine();
    private static volatile int order;

    private Fence() {}

    private static boolean nine() {
        try {
            Java9.releaseFence();
            return true;
        } catch (LinkageError before9) {
            return false;
        }
    }

    /** What was written before is seen before what is written from here on. Returns 0. */
    static int release() {
        if (NINE) {
            Java9.releaseFence();
            return 0;
        }
        // A volatile write comes behind what is before it, a volatile read in front of what is behind it, and those two stay in order.
        order = 0;
        return order;
    }
}
