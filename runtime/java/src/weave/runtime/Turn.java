package weave.runtime;

/** A thread runs in another context for a while. */
final class Turn {
    /** The context before. */
    final Span before;

    Turn(Span before) {
        this.before = before;
    }
}
