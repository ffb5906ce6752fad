package weave.runtime;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.zip.DataFormatException;
import java.util.zip.Inflater;

/** The ids of a symbols map's methods, and what switches them. */
final class Ids {
    private static final int HEAD = 16;
    private static final int BLOCK_HEAD = 12;
    private static final int BLOCK_LIMIT = 4 << 20;
    /** Beside an aspect's level: a number follows. */
    private static final int AUTO = 1 << 4;
    private static final int SAMPLED = 1 << 5;
    private static final int OVERHEAD = 1 << 7;
    private static final int LEVEL = 15;

    /** An aspect that can be switched. */
    static final class Aspect {
        final String name;
        final int level;
        /** The program itself decides how much it records; a call that takes so many microseconds is told all the same. -1: it does not. */
        final int slower;
        /** What that may take, in thousandths of the program's CPU; -1 where the rule does not say it. */
        final int overhead;

        Aspect(String name, int level, int slower, int overhead) {
            this.name = name;
            this.level = level;
            this.slower = slower;
            this.overhead = overhead;
        }
    }

    /** Methods whose ids follow one another, and the aspects that switch them. */
    static final class Row {
        final int first;
        final int count;
        final Aspect[] by;

        Row(int first, int count, Aspect[] by) {
            this.first = first;
            this.count = count;
            this.by = by;
        }

        /** {@link Aspect#slower}, the least of them; -1 if one of them does not let the program decide. */
        int slower() {
            int least = Integer.MAX_VALUE;
            for (Aspect aspect : by) {
                least = Math.min(least, aspect.slower);
            }
            return by.length == 0 ? -1 : least;
        }
    }

    int[] ids = new int[1_024];
    int count;
    final ArrayList<Row> rows = new ArrayList<Row>();

    private Aspect[] aspects = new Aspect[0];

    private byte[] block;
    private int at;
    private int end;

    void read(byte[] map) throws IOException, DataFormatException {
        if (map.length < HEAD || word(map, 0) != 0x4D595357) {
            throw new IOException("no symbols map");
        }
        int p = HEAD;
        for (int blocks = word(map, 12); blocks > 0; blocks--) {
            int length = word(map, p);
            int packed = word(map, p + 8);
            p += BLOCK_HEAD;
            if (length < 0 || length > BLOCK_LIMIT || packed < 0 || packed > map.length - p) {
                throw new IOException("a block's length");
            }
            if (block == null || block.length < length) {
                block = new byte[length];
            }
            Inflater inflater = new Inflater(true);
            try {
                inflater.setInput(map, p, packed);
                for (end = 0; end < length && !inflater.finished();) {
                    int n = inflater.inflate(block, end, length - end);
                    if (n == 0) {
                        throw new IOException("a block ends early");
                    }
                    end += n;
                }
            } finally {
                inflater.end();
            }
            p += packed;
            entries();
        }
    }

    private void entries() throws IOException {
        at = 0;
        int last = 0;
        while (at < end) {
            switch (block[at++]) {
                case 2:
                    text();
                    text();
                    break;
                case 1:
                    text();
                    break;
                case 3:
                    last += number();
                    add(last);
                    text();
                    text();
                    number();
                    break;
                case 4:
                case 6:
                    for (int n = number(); n > 0; n--) {
                        text();
                    }
                    break;
                case 5:
                    int first = last + number();
                    int methods = number();
                    for (int i = 0; i < methods; i++) {
                        last = first + i;
                        add(last);
                        number();
                        number();
                        number();
                    }
                    break;
                case 7:
                case 8:
                    number();
                    text();
                    break;
                case 9:
                    number();
                    for (int n = number(); n > 0; n--) {
                        text();
                    }
                    break;
                case 10:
                    number();
                    break;
                case 13:
                    number();
                    number();
                    for (int n = 5; n > 0; n--) {
                        text();
                    }
                    break;
                case 11:
                    aspects();
                    break;
                case 12:
                    last = switched(last);
                    break;
                default:
                    throw new IOException("an unknown tag");
            }
        }
    }

    private void aspects() throws IOException {
        ArrayList<Aspect> all = new ArrayList<Aspect>();
        for (int n = number(); n > 0; n--) {
            int said = number();
            int slower = -1;
            int overhead = -1;
            if ((said & AUTO) != 0) {
                slower = number();
                overhead = (said & OVERHEAD) != 0 ? number() : -1;
            } else if ((said & SAMPLED) != 0) {
                number(); // which of its calls: its methods' code says it, too
            }
            int length = number();
            if (length < 0 || length > end - at) {
                throw new IOException("a text's length");
            }
            all.add(new Aspect(new String(block, at, length, StandardCharsets.UTF_8), said & LEVEL, slower, overhead));
            at += length;
        }
        aspects = all.toArray(new Aspect[0]);
    }

    private int switched(int last) throws IOException {
        int first = last + number();
        int methods = number();
        ArrayList<Aspect> by = new ArrayList<Aspect>();
        for (int n = number(); n > 0; n--) {
            int aspect = number();
            if (aspect < 0 || aspect >= aspects.length) {
                throw new IOException("an aspect that is not there");
            }
            by.add(aspects[aspect]);
        }
        rows.add(new Row(first, methods, by.toArray(new Aspect[0])));
        return first + methods - 1;
    }

    private void add(int id) {
        if (count == ids.length) {
            ids = Arrays.copyOf(ids, 2 * count);
        }
        ids[count++] = id;
    }

    private void text() throws IOException {
        int length = number();
        if (length < 0 || length > end - at) {
            throw new IOException("a text's length");
        }
        at += length;
    }

    private int number() throws IOException {
        int value = 0;
        for (int shift = 0;; shift += 7) {
            if (at >= end || shift > 28) {
                throw new IOException("a number's end");
            }
            byte b = block[at++];
            value |= (b & 0x7F) << shift;
            if (b >= 0) {
                return value;
            }
        }
    }

    private static int word(byte[] b, int p) throws IOException {
        if (p < 0 || p > b.length - 4) {
            throw new IOException("cut off");
        }
        return b[p] & 0xFF | (b[p + 1] & 0xFF) << 8 | (b[p + 2] & 0xFF) << 16 | b[p + 3] << 24;
    }
}
