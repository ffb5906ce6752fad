package weave.runtime;

import java.nio.LongBuffer;

/** A place in a chunk at which one thread at a time writes. */
class Cursor extends Padding {
    /**
     * Words at the end of each chunk for a LOST escape, so that a thread that gets no other chunk can still say so, and
     * for the END escape.
     */
    private static final int RESERVE = 3;

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

    /** Goes on at a word of a chunk. */
    final void move(LongBuffer chunk, int word, int thread, long now) {
        words = chunk;
        at = word;
        limit = Format.CHUNK_WORDS - RESERVE;
        owner = thread;
        last = now;
    }

    /** Writes an escape, its first word last: until then the data ends before it. Returns the word behind it. */
    final int put(int word, long[] escape) {
        for (int i = escape.length - 1; i >= 0; i--) {
            words.put(word + i, escape[i]);
        }
        return word + escape.length;
    }

    /** The same for an escape with one word of payload. */
    final int put(int word, int type, long payload) {
        words.put(word + 1, payload);
        words.put(word, Format.escape(type, 1, 0));
        return word + 2;
    }
}
