package weave.runtime;

/** Says what becomes of a method's calls, in the place of {@code weave control}. */
public final class Modest {
    private Modest() {}

    public static void set(int id, String mode) {
        byte[] table = Modes.room();
        for (int other = 0; other < table.length; other++) {
            Modes.put(table, other, other % 3 == 0 ? Modes.OFF : Modes.RULES);
        }
        int number = mode.equals("off") ? Modes.OFF : mode.equals("count") ? Modes.COUNT
            : mode.equals("aggregate") ? Modes.AGGREGATE : mode.equals("rules") ? Modes.RULES : Modes.RECORD;
        table[id & table.length - 1] = (byte) number;
        Modes.use(table, Modes.exactRoom(0));
    }
}
