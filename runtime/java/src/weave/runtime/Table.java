package weave.runtime;

/**
 * The modes of methods by their ids' lower bits, for {@link Modes}. Constants, so that compilers know where a method's mode lies. A class of its
 * own: a program in which nothing can be switched has no table. Where there was no room for one when it was first asked for, the class can never
 * be used, and exact tables have all modes.
 */
final class Table {
    static final int LAST = Modes.places() - 1;
    static final byte[] MODES = new byte[LAST + 1];

    private Table() {}
}
