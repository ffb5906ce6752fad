package weave.runtime;

/**
 * The SQL text of prepared statements, which they do not tell: hooks of {@code pack:jdbc} note it when they are prepared, and ask for it
 * when they run. No method of a statement is called for it.
 */
public final class Sql {
    private Sql() {}

    private static final class Texts {
        static final Known<String> ALL = new Known<String>();
    }

    /** A statement was prepared with this text. */
    public static void prepared(Object statement, String sql) {
        Texts.ALL.put(statement, sql);
    }

    /** The text that a statement was prepared with, or null. */
    public static String of(Object statement) {
        return Texts.ALL.of(statement);
    }

    private static final int LONGEST = 4_000;
    private static final int LONGEST_WORD = 24;

    /** The text with {@code ?} for each literal, and without comments; null for null. What is not closed ends the text. */
    public static String sanitized(String sql) {
        if (sql == null) {
            return null;
        }
        StringBuilder out = new StringBuilder(Math.min(sql.length(), LONGEST));
        int length = Math.min(sql.length(), LONGEST);
        for (int i = 0; i < length;) {
            char c = sql.charAt(i);
            if (c == '\'') {
                i = behindQuote(sql, i, length);
                out.append('?');
            } else if (c == '"') {
                // A name in most dialects, a text in some.
                int end = sql.indexOf(c, i + 1);
                i = end < 0 || end >= length ? length : end + 1;
                out.append('?');
            } else if (c == '-' && sql.startsWith("--", i)) {
                int end = sql.indexOf('\n', i);
                i = end < 0 ? length : end;
            } else if (c == '/' && sql.startsWith("/*", i)) {
                int end = sql.indexOf("*/", i + 2);
                i = end < 0 ? length : end + 2;
            } else if (c == '$' && dollar(sql, i) > 0) {
                String tag = sql.substring(i, dollar(sql, i));
                int end = sql.indexOf(tag, i + tag.length());
                i = end < 0 ? length : end + tag.length();
                out.append('?');
            } else if (isDigit(c) || c == '.' && i + 1 < length && isDigit(sql.charAt(i + 1))) {
                while (i < length && (isWord(sql.charAt(i)) || sql.charAt(i) == '.')) {
                    i++;
                }
                out.append('?');
            } else if (isWord(c)) {
                int start = i;
                while (i < length && (isWord(sql.charAt(i)) || sql.charAt(i) == '$')) {
                    i++;
                }
                out.append(sql, start, i);
            } else {
                out.append(c);
                i++;
            }
        }
        return out.toString().trim();
    }

    /** The first word of a statement, in capitals; null where it begins with none. */
    public static String operation(String sql) {
        if (sql == null) {
            return null;
        }
        String text = sanitized(sql.length() > 1_000 ? sql.substring(0, 1_000) : sql);
        int start = 0;
        while (start < text.length() && (text.charAt(start) == '(' || text.charAt(start) <= ' ')) {
            start++;
        }
        int end = start;
        while (end < text.length() && isWord(text.charAt(end)) && end - start <= LONGEST_WORD) {
            end++;
        }
        return end == start || end - start > LONGEST_WORD ? null : text.substring(start, end).toUpperCase(java.util.Locale.ROOT);
    }

    /** The table that a statement is about; null where none is seen, or several are. */
    public static String collection(String sql) {
        if (sql == null) {
            return null;
        }
        String found = null;
        String[] words = sanitized(sql).split("(?<![\\w.])|(?![\\w.])", 400);
        String before = "";
        for (String word : words) {
            if (word.trim().isEmpty()) {
                continue;
            }
            boolean names = before.equals("FROM") || before.equals("INTO") || before.equals("UPDATE") || before.equals("JOIN") || before.equals("TABLE");
            if (names && isWord(word.charAt(0)) && !word.equalsIgnoreCase("SELECT") && !word.equalsIgnoreCase("IF")) {
                if (found != null && !found.equals(word)) {
                    return null;
                }
                found = word;
            }
            before = word.toUpperCase(java.util.Locale.ROOT);
        }
        return found;
    }

    /** Behind a text in single quotes; two of them are one in it. A backslash may take what follows along, or not: then nothing further is kept. */
    private static int behindQuote(String sql, int at, int length) {
        for (int i = at + 1; i < length; i++) {
            char c = sql.charAt(i);
            if (c == '\\') {
                return length;
            } else if (c == '\'') {
                if (i + 1 < length && sql.charAt(i + 1) == '\'') {
                    i++;
                } else {
                    return i + 1;
                }
            }
        }
        return length;
    }

    /** Where the tag of a text in dollars ends ({@code $$}, {@code $tag$}), or 0. */
    private static int dollar(String sql, int at) {
        int end = at + 1;
        while (end < sql.length() && isWord(sql.charAt(end)) && !isDigit(sql.charAt(at + 1))) {
            end++;
        }
        return end < sql.length() && sql.charAt(end) == '$' ? end + 1 : 0;
    }

    private static boolean isDigit(char c) {
        return c >= '0' && c <= '9';
    }

    private static boolean isWord(char c) {
        return c == '_' || Character.isLetterOrDigit(c);
    }
}
