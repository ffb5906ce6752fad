package weave.runtime;

import java.nio.charset.StandardCharsets;

/** The numbers of {@code docs/trace-format.md}, and the escapes that carry text, as words ready to be written. */
final class Format {
    static final long FILE_MAGIC = 0x0A0D_4543_4152_5457L; // "WTRACE\r\n", little-endian
    static final int VERSION = 1;

    static final int CHUNK = 65_536;
    static final int CHUNK_WORDS = CHUNK / 8;
    static final int CHUNK_HEAD_WORDS = 4;
    static final int CHUNK_MAGIC = 0x4B48_4357; // "WCHK"
    static final int FREE_MAGIC = 0x4552_4657; // "WFRE"
    static final int RECORDS = 1;
    static final int SYMBOLS = 2;
    static final int COUNTS = 3;
    static final int AGGREGATES = 4;
    static final int CONTROL = 5;

    /** Of an escape that comes alone. */
    static final int NONE = 0;
    static final int ENTER = 1;
    static final int EXIT = 2;
    static final int ERROR = 3;
    /** A gap of this many bits does not fit a record. */
    static final int GAP_BITS = 30;
    /** After a gap of this many bits new code may have been loaded. */
    static final int PAUSE_BITS = 13;

    static final int TIME = 1;
    static final int SEGMENT = 2;
    static final int THREAD = 3;
    static final int EXCEPTION = 4;
    static final int LOST = 5;
    static final int END = 6;
    static final int SAMPLE = 8;
    static final int VALUE = 9;
    static final int AGGREGATED = 10;
    static final int SLOW = 12;
    static final int SAMPLED = 13;
    static final int SPAN = 14;
    static final int CONTEXT = 15;
    static final int CPU = 11;
    static final int COMPLETE = 18;
    static final int STAYS = 19;

    /** Kinds of values. */
    static final int NULL = 1;
    static final int SIGNED = 2;
    static final int DOUBLE = 4;
    static final int FLOAT = 5;
    static final int BOOLEAN = 6;
    static final int UNIT = 7;
    static final int STRING = 8;
    static final int OTHER = 9;
    static final int NOTE = 10;
    /** Flags of values. */
    static final int CUT = 1 << 8;
    static final int MASKED = 2 << 8;
    static final int OF_END = 4 << 8;

    /** Flag of the library's own thread. */
    static final int OWN = 4;

    private static final int NAME_LIMIT = 200;
    private static final int TEXT_LIMIT = 1_000;

    private Format() {}

    /** The first word of an escape. */
    static long escape(int type, int payloadWords, int argument) {
        return (long) argument << 32 | payloadWords << 8 | type << 2;
    }

    /** Two unsigned numbers of 32 bits in one word. */
    static long pair(int high, int low) {
        return (long) high << 32 | low & 0xFFFF_FFFFL;
    }

    /** A THREAD escape. */
    static long[] thread(Thread thread, String text, int number, boolean virtual, boolean own) {
        int flags = (virtual ? 1 : 0) | (thread.isDaemon() ? 2 : 0) | (own ? OWN : 0);
        byte[] name = utf8(own ? text : Secrets.names() ? Secrets.masked(text, NAME_LIMIT) : "Thread " + number, NAME_LIMIT);
        long[] words = new long[2 + (name.length + 7) / 8];
        words[0] = escape(THREAD, words.length - 1, number);
        words[1] = (long) name.length << 32 | flags;
        pack(name, 0, name.length, words, 16);
        return words;
    }

    /**
     * An EXCEPTION escape, of an exception that leaves the method {@code id}. The message comes from the program's own code, which may
     * do anything: what it throws means that there is no message. {@code behind} follows.
     */
    static long[] exception(Throwable t, int id, long[] behind) {
        byte[] type = utf8(t.getClass().getName(), TEXT_LIMIT);
        byte[] message;
        try {
            message = Secrets.tells(id) ? utf8(Secrets.masked(t.getMessage(), TEXT_LIMIT), TEXT_LIMIT) : new byte[0];
        } catch (Throwable failure) {
            Host.pass(failure);
            message = new byte[0];
        }
        int length = 2 + (type.length + message.length + 7) / 8;
        long[] words = new long[length + behind.length];
        words[0] = escape(EXCEPTION, length - 1, 0);
        words[1] = (long) message.length << 32 | type.length;
        System.arraycopy(behind, 0, words, length, behind.length);
        pack(type, 0, type.length, words, 16);
        pack(message, 0, message.length, words, 16 + type.length);
        return words;
    }

    /** {@code length} bytes from {@code from} on into {@code words}, beginning at byte {@code at} of them. */
    static void pack(byte[] bytes, int from, int length, long[] words, int at) {
        for (int i = 0; i < length; i++, at++) {
            words[at >> 3] |= (bytes[from + i] & 0xFFL) << ((at & 7) << 3);
        }
    }

    /** At most {@code limit} bytes of a text, cut between characters. */
    static byte[] utf8(String text, int limit) {
        if (text == null) {
            return new byte[0];
        }
        // A char is at least one byte, so no more chars than this can matter.
        byte[] all = (text.length() > limit ? text.substring(0, limit) : text).getBytes(StandardCharsets.UTF_8);
        if (all.length <= limit) {
            return all;
        }
        int cut = limit;
        while (cut > 0 && (all[cut] & 0xC0) == 0x80) {
            cut--;
        }
        byte[] some = new byte[cut];
        System.arraycopy(all, 0, some, 0, cut);
        return some;
    }
}
