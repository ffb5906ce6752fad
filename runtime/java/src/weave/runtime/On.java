package weave.runtime;

/**
 * Whether something is recorded, as a constant: compilers leave hooks out of what they make where nothing is. Where the stack has no room to
 * find that out it says yes, and hooks ask again. Where it has none even for this class's initialiser, the class can never be used, and
 * {@link Hooks} does without it.
 */
final class On {
    static final boolean ON = Hooks.begins();
    /** Methods that can be switched, and are of a level beyond this one, are off from the start. */
    static final int LEVEL = Hooks.startLevel();

    private On() {}
}
