package weave.runtime;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import java.util.TreeSet;

/** What {@code weave control} asks for. It is checked as a whole before any of it is done. */
final class Request {
    private static final String HEAD = "weave control 2";
    /** The largest number: it has 32 bits. */
    private static final long LAST = 0xFFFF_FFFFL;
    private static final String[] MODES = {"rules", "off", "count", "aggregate", "record", "auto"};

    int number;
    /** -1: it stays. */
    int level = -1;
    String mode = "rules";
    final Set<String> enabled = new TreeSet<String>();
    final Set<String> disabled = new TreeSet<String>();
    boolean reset;

    private Request() {}

    /** Null if it is none, is for another process, or has anything that is not known here. */
    static Request of(byte[] bytes, String to, String nonce) {
        String text;
        try {
            text = StandardCharsets.UTF_8.newDecoder().onMalformedInput(CodingErrorAction.REPORT)
                    .onUnmappableCharacter(CodingErrorAction.REPORT).decode(ByteBuffer.wrap(bytes)).toString();
        } catch (CharacterCodingException notText) {
            return null;
        }
        String[] lines = text.split("\n");
        if (lines.length < 4 || !lines[0].equals(HEAD) || !lines[1].equals("to " + to) || !lines[2].equals("nonce " + nonce)) {
            return null;
        }
        Request request = new Request();
        long number = lines[3].startsWith("number ") ? number(lines[3].substring("number ".length())) : -1;
        if (number < 0) {
            return null;
        }
        request.number = (int) number;
        for (int i = 4; i < lines.length; i++) {
            if (!request.add(lines[i])) {
                return null;
            }
        }
        return request;
    }

    private static long number(String digits) {
        long number = 0;
        for (int i = 0; i < digits.length(); i++) {
            int digit = digits.charAt(i) - '0';
            if (digit < 0 || digit > 9 || (number = 10 * number + digit) > LAST) {
                return -1;
            }
        }
        return digits.isEmpty() ? -1 : number;
    }

    private boolean add(String line) {
        int space = line.indexOf(' ');
        String rest = line.substring(space + 1);
        switch (space < 0 ? "" : line.substring(0, space)) {
            case "level":
                level = Control.level(rest, -1);
                return level >= 0;
            case "mode":
                for (String word : MODES) {
                    if (word.equals(rest)) {
                        mode = word;
                        return true;
                    }
                }
                return false;
            case "enable":
                enabled.add(rest);
                return true;
            case "disable":
                disabled.add(rest);
                return true;
            default:
                reset |= line.equals("reset");
                return line.equals("reset");
        }
    }

    /** Whether it comes after another of that number. Numbers begin again when they are used up. */
    boolean isAfter(int other) {
        return number != 0 && number - other > 0;
    }
}
