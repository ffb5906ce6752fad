package weave.runtime;

/** A thread goes on in a context that it took; or, without one, a method has begun that takes such. */
final class Taken {
    /** Null: a method. */
    final Span span;
    /** The context before; of a method null. */
    final Span before;
    final Taken outer;

    Taken(Span span, Span before, Taken outer) {
        this.span = span;
        this.before = before;
        this.outer = outer;
    }
}
