package weave.runtime;

/** A value of a call that is known when the call is complete, which may be long after it has returned. */
abstract class Late {
    /** Where the trace has it, and how much of it; what was asked for before, of the same call. */
    int place;
    int limit;
    String mask;
    Late before;

    /** What it is, once the call is complete. It may throw anything. */
    abstract Object value();
}
