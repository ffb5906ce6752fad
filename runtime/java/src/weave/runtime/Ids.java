package weave.runtime;

import java.io.IOException;
import java.util.Arrays;
import java.util.zip.DataFormatException;
import java.util.zip.Inflater;

/** The ids of a symbols map's methods. */
final class Ids {
    private static final int HEAD = 16;
    private static final int BLOCK_HEAD = 12;
    private static final int BLOCK_LIMIT = 4 << 20;

    int[] ids = new int[1_024];
    int count;

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
                default:
                    throw new IOException("an unknown tag");
            }
        }
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
