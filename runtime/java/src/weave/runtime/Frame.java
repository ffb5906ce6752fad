package weave.runtime;

/** A call that is open, of a method that is summed up. */
final class Frame {
    int id;
    /** What it adds to; null where threads share that, or where it is only counted. */
    Sum sum;
    /** There was no room for a sum. */
    boolean counted;
    long start;
    /** Time in calls right below it, summed up or recorded. */
    long inner;
    /** Recorded calls that are open below it, up to the next one that is summed up. */
    int recorded;
    /** When the outermost of them began. */
    long since;
}
