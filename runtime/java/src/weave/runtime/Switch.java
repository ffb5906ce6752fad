package weave.runtime;

/** What is decided once for the process; constants, so that the compiler removes the hooks when tracing is off. */
final class Switch {
    /** Whether this process is traced; decided once, so that enters and exits balance. */
    static final boolean ON = Settings.on();

    static final Lanes LANES = ON ? new Lanes() : null;

    /**
     * Whether the class loader of this copy of the library may go before the process ends, as a web application's does.
     * Then nothing that stays may hold the library: no thread, no shutdown hook, no thread's local.
     */
    static final boolean COLLECTIBLE = ON && Host.collectible(Switch.class.getClassLoader());

    private Switch() {}
}
