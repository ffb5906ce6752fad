package weave.runtime;

/** A thread runs in another context for a while. */
final class Turn {
    /** The context before. */
    final Span before;
    final Span span;

    Turn(Span before, Span span) {
        this.before = before;
        this.span = span;
    }
}
