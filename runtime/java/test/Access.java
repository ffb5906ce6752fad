package weave.runtime;

/** What the tests reach inside the library. */
public final class Access {
    /** Does what executors do that clear their threads' locals. */
    public static void forgetLane() {
        Hooks.LANES.remove();
    }
}
