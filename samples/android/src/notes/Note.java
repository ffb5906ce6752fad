package notes;

/** A note; its kind follows from its number. */
class Note implements Comparable<Note> {
    private static final String[] KINDS = kinds();

    final int number;
    private final String text;

    Note(int number, String text) {
        this(number, text, number % 3 == 0);
    }

    private Note(int number, String text, boolean loud) {
        super();
        if (number < 0) {
            throw new IllegalArgumentException("a note has no number " + number);
        }
        this.number = number;
        this.text = loud ? text.toUpperCase(java.util.Locale.ROOT) : text;
    }

    private static String[] kinds() {
        return new String[] {"short", "long", "lost"};
    }

    static String kindName(int kind) {
        switch (kind) {
            case 0:
            case 1:
            case 2:
                return KINDS[kind];
            default:
                return "unknown";
        }
    }

    long weight() {
        return number * 1_000_000_007L % 97;
    }

    @Override
    public int compareTo(Note other) {
        return number < other.number ? -1 : number > other.number ? 1 : 0;
    }

    @Override
    public String toString() {
        return text + number;
    }
}
