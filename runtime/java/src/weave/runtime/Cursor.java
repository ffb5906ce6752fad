package weave.runtime;

import java.nio.LongBuffer;

/** A place in a chunk at which one thread at a time writes. */
class Cursor extends Padding {
    /**
     * Words at the end of each chunk for a LOST escape, so that a thread that gets no other chunk can still say so, and
     * for the END escape.
     */
    private static final int RESERVE = 3;

    /** More words than a record and its escapes ever take. */
    private static final int MOST = 512;

    /**
     * Always 0. A volatile read between writing a word and reading it again: the compiler then really reads it. HotSpot
     * skips an instruction that touches a page which is gone, and throws only later, in whatever code runs then.
     */
    static volatile int fence;
    private static volatile Object sink;

    /** The chunk, or null. */
    LongBuffer words;
    /** The word to be written next. */
    int at;
    /** Where {@link Lane#record} has to stop: {@link #limit}, or 0 when it has to take the slow path. */
    int end;
    /** Where the chunk's room ends. */
    int limit;
    /** The chunk's clock, in {@link System#nanoTime}. */
    long last;
    /** The logical thread of the current segment. */
    int owner;

    /** Something may have been written behind {@link #at} that does not belong there: a hook failed in the middle. */
    boolean torn;

    /** Makes sure that there is nothing behind {@link #at}. */
    final void mend() {
        for (int i = at; words != null && i < Math.min(at + MOST, Format.CHUNK_WORDS); i++) {
            set(words, i, 0);
        }
    }

    /** Writes a word of mapped memory, in no order to others that {@link Fence} does not make; fails, here and now, if it did not take it: the file was cut off, or the disk is full. */
    static void set(LongBuffer words, int at, long word) {
        words.put(at, word);
        if (fence != 0 || words.get(at) != word) {
            throw gone();
        }
    }

    /** What to throw when mapped memory is found to have failed. */
    static InternalError gone() {
        settle();
        return new InternalError("the trace's memory is gone");
    }

    /**
     * Makes HotSpot throw for a fault here, and not in the program's code: it does so on the way back from its runtime,
     * which always makes arrays of arrays.
     */
    static void settle() {
        for (int i = 0; i < 3; i++) {
            try {
                sink = new int[fence + 1][fence + 1];
            } catch (InternalError fault) {
                // here
            }
        }
        sink = null;
    }

    /** Goes on at a word of a chunk. */
    final void move(LongBuffer chunk, int word, int thread, long now) {
        words = chunk;
        at = word;
        limit = Format.CHUNK_WORDS - RESERVE;
        owner = thread;
        last = now;
    }

    /** Has no chunk any more. */
    final void leave() {
        limit = 0;
        words = null;
    }

    /** Writes escapes, the first word last: until then the data ends before them. Returns the word behind them. */
    final int put(int word, long[] escapes) {
        for (int i = escapes.length - 1; i >= 0; i--) {
            if (i == 0) {
                Fence.release();
            }
            set(words, word + i, escapes[i]);
        }
        return word + escapes.length;
    }

    /** The same for an escape with one word of payload. */
    final int put(int word, int type, long payload) {
        set(words, word + 1, payload);
        Fence.release();
        set(words, word, Format.escape(type, 1, 0));
        return word + 2;
    }
}
