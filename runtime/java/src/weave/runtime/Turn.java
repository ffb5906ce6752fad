package weave.runtime;

/** A thread runs in another context for a while. */
final class Turn {
    /** The context before. */
    final Span before;
    /** The turn in which this one began. */
    final Turn outer;

    Turn(Span before, Turn outer) {
        this.before = before;
        this.outer = outer;
    }
}
