package weave.runtime;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Compiles masks as rules write them to the table that {@link Mask} walks: a text in which {@code *} stands for what is no blank, or
 * {@code re:} and a regular expression. What it takes of expressions means the same as in rules; anything else is refused.
 */
final class Masks {
    /** A table that masks every text. */
    static final String ALL = of("re:(?s).+");

    private static final int MOST_STATES = 1_000;
    private static final int MOST_NODES = 4_000;
    private static final int DEEPEST = 50;
    /** The units of ASCII, and all others as one. */
    private static final int UNITS = 129;

    private final String text;
    private int at;
    private int depth;
    private boolean anyCase;
    private boolean dotIsAll;

    /** The nodes of the automaton: the units that lead from one to the next, or null where two ways go on; 0 is the end. */
    private final List<boolean[]> sets = new ArrayList<boolean[]>();
    private final List<int[]> ways = new ArrayList<int[]>();

    private Masks(String text) {
        this.text = text;
        node(null, 0, 0);
    }

    /** The table of all masks in a setting, which {@code ;} separates; {@code \;} is one. */
    static String of(String setting) {
        Masks all = new Masks("");
        int start = 0;
        List<String> masks = split(setting);
        for (int i = 0; i < masks.size(); i++) {
            Masks one = new Masks(masks.get(i));
            try {
                Part part = one.parse();
                one.at = 0;
                int own = all.put(part, 0);
                if (all.reaches(own)) {
                    throw new IllegalArgumentException("it matches the empty text");
                }
                start = i == 0 ? own : all.node(null, own, start);
            } catch (IllegalArgumentException wrong) {
                throw new IllegalArgumentException("mask " + (i + 1) + ": " + wrong.getMessage());
            }
        }
        return all.table(start);
    }

    private static List<String> split(String setting) {
        List<String> masks = new ArrayList<String>();
        StringBuilder mask = new StringBuilder();
        for (int i = 0; i <= setting.length(); i++) {
            char c = i < setting.length() ? setting.charAt(i) : ';';
            if (c == ';') {
                masks.add(mask.toString().trim());
                mask.setLength(0);
            } else if (c == '\\' && i + 1 < setting.length() && setting.charAt(i + 1) == ';') {
                mask.append(';');
                i++;
            } else {
                mask.append(c);
            }
        }
        while (masks.size() > 1 && masks.get(masks.size() - 1).isEmpty()) {
            masks.remove(masks.size() - 1);
        }
        return masks;
    }

    /** A part of an expression: units, or other parts: in a row, as alternatives, or repeated. */
    private static final class Part {
        boolean[] units;
        final List<Part> parts = new ArrayList<Part>();
        boolean isChoice;
        int least = 1;
        int most = 1;
    }

    private Part parse() {
        for (int i = 0; i < text.length(); i++) {
            if (text.charAt(i) > 127) {
                throw new IllegalArgumentException("a mask is of ASCII characters");
            }
        }
        if (text.startsWith("re:")) {
            at = 3;
            Part all = choice();
            if (at < text.length()) {
                throw wrong();
            }
            return all;
        }
        Part all = new Part();
        for (int i = 0; i < text.length(); i++) {
            Part part = new Part();
            char c = text.charAt(i);
            part.units = c == '*' ? not(of("\t\n\u000b\f\r ", false)) : of(String.valueOf(c), false);
            part.least = c == '*' ? 0 : 1;
            part.most = c == '*' ? -1 : 1;
            all.parts.add(part);
        }
        return all;
    }

    private IllegalArgumentException wrong() {
        return new IllegalArgumentException("character " + (at + 1) + " is not understood");
    }

    private boolean is(char c) {
        return at < text.length() && text.charAt(at) == c;
    }

    private boolean eat(String what) {
        boolean there = text.startsWith(what, at);
        at += there ? what.length() : 0;
        return there;
    }

    private Part choice() {
        if (depth++ > DEEPEST) {
            throw wrong();
        }
        boolean wasAnyCase = anyCase;
        boolean wasAll = dotIsAll;
        Part all = new Part();
        all.isChoice = true;
        do {
            Part row = new Part();
            while (at < text.length() && !is('|') && !is(')')) {
                Part part = atom();
                row.parts.add(part == null ? new Part() : again(part));
            }
            all.parts.add(row);
        } while (eat("|"));
        anyCase = wasAnyCase;
        dotIsAll = wasAll;
        depth--;
        return all;
    }

    /** A part and how often it comes. */
    private Part again(Part part) {
        while (true) {
            int least;
            int most = -1;
            if (eat("*")) {
                least = 0;
            } else if (eat("+")) {
                least = 1;
            } else if (eat("?")) {
                least = 0;
                most = 1;
            } else if (eat("{")) {
                least = number();
                most = eat(",") ? is('}') ? -1 : number() : least;
                if (!eat("}") || most >= 0 && most < least) {
                    throw wrong();
                }
            } else {
                return part;
            }
            eat("?"); // the longest match counts, whatever comes first
            Part more = new Part();
            more.parts.add(part);
            more.least = least;
            more.most = most;
            part = more;
        }
    }

    private int number() {
        int from = at;
        while (at < text.length() && text.charAt(at) >= '0' && text.charAt(at) <= '9') {
            at++;
        }
        if (at == from || at - from > 4) {
            throw wrong();
        }
        return Integer.parseInt(text.substring(from, at));
    }

    /** A unit, a class or a group; null for what stands for nothing. */
    private Part atom() {
        Part part = new Part();
        if (eat("(")) {
            boolean wasAnyCase = anyCase;
            boolean wasAll = dotIsAll;
            if (eat("?")) {
                boolean on = true;
                while (!is(':') && !is(')')) {
                    if (eat("-")) {
                        on = false;
                    } else if (eat("i")) {
                        anyCase = on;
                    } else if (eat("s")) {
                        dotIsAll = on;
                    } else {
                        throw wrong();
                    }
                }
                if (eat(")")) {
                    return null; // it holds up to the end of the group around it
                }
                eat(":");
            }
            part.parts.add(choice());
            anyCase = wasAnyCase;
            dotIsAll = wasAll;
            if (!eat(")")) {
                throw wrong();
            }
        } else if (eat("[")) {
            part.units = units();
        } else if (eat(".")) {
            part.units = not(dotIsAll ? new boolean[UNITS] : of("\n", false));
        } else if (is('\\')) {
            part.units = escape();
        } else if ("^$*+?{".indexOf(text.charAt(at)) >= 0) {
            throw wrong();
        } else {
            part.units = of(String.valueOf(text.charAt(at++)), anyCase);
        }
        return part;
    }

    /** What is in brackets. */
    private boolean[] units() {
        boolean isNot = eat("^");
        boolean[] all = new boolean[UNITS];
        boolean first = true;
        while (first || !is(']')) {
            first = false;
            if (at >= text.length() || is('[') || eat("&&") || eat("--") || eat("~~")) {
                throw wrong();
            }
            int from = at;
            boolean[] some = is('\\') ? escape() : of(String.valueOf(text.charAt(at++)), anyCase);
            if (is('-') && at + 1 < text.length() && text.charAt(at + 1) != ']') {
                int low = one(from, at);
                int last = ++at;
                if (is('\\')) {
                    escape();
                } else {
                    at++;
                }
                int high = one(last, at);
                if (low < 0 || high < low) {
                    throw wrong();
                }
                for (int unit = low; unit <= high; unit++) {
                    add(some, of(String.valueOf((char) unit), anyCase));
                }
            }
            add(all, some);
        }
        at++;
        return isNot ? not(all) : all;
    }

    /** The one unit that is written there, or -1. */
    private int one(int from, int to) {
        if (text.charAt(from) != '\\') {
            return text.charAt(from);
        }
        Masks again = new Masks(text.substring(from, to));
        boolean[] units = again.escape();
        int found = -1;
        for (int unit = 0; unit < UNITS; unit++) {
            if (units[unit]) {
                if (found >= 0) {
                    return -1;
                }
                found = unit;
            }
        }
        return found;
    }

    private boolean[] escape() {
        at++;
        if (at >= text.length()) {
            throw wrong();
        }
        char c = text.charAt(at++);
        switch (c) {
            case 'd':
            case 'D':
                return either(range('0', '9'), c == 'D');
            case 's':
            case 'S':
                return either(of("\t\n\u000b\f\r ", false), c == 'S');
            case 'w':
            case 'W':
                boolean[] word = of("_", false);
                add(word, range('0', '9'));
                add(word, range('a', 'z'));
                add(word, range('A', 'Z'));
                return either(word, c == 'W');
            case 'n':
                return of("\n", false);
            case 'r':
                return of("\r", false);
            case 't':
                return of("\t", false);
            case 'x':
                int unit = at + 2 <= text.length() ? Character.digit(text.charAt(at), 16) * 16 + Character.digit(text.charAt(at + 1), 16) : -1;
                if (unit < 0 || unit > 127) {
                    throw wrong();
                }
                at += 2;
                return of(String.valueOf((char) unit), anyCase);
            default:
                if (c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '<' || c == '>') {
                    at--;
                    throw wrong();
                }
                return of(String.valueOf(c), false);
        }
    }

    private static boolean[] range(char from, char to) {
        boolean[] units = new boolean[UNITS];
        for (int unit = from; unit <= to; unit++) {
            units[unit] = true;
        }
        return units;
    }

    private static boolean[] of(String units, boolean anyCase) {
        boolean[] all = new boolean[UNITS];
        for (int i = 0; i < units.length(); i++) {
            char unit = units.charAt(i);
            all[unit] = true;
            char lower = (char) (unit | 0x20);
            if (anyCase && lower >= 'a' && lower <= 'z') {
                all[lower] = true;
                all[lower & ~0x20] = true;
            }
        }
        return all;
    }

    private static void add(boolean[] all, boolean[] more) {
        for (int unit = 0; unit < UNITS; unit++) {
            all[unit] |= more[unit];
        }
    }

    private static boolean[] not(boolean[] units) {
        boolean[] others = new boolean[UNITS];
        for (int unit = 0; unit < UNITS; unit++) {
            others[unit] = !units[unit];
        }
        return others;
    }

    private static boolean[] either(boolean[] units, boolean isNot) {
        return isNot ? not(units) : units;
    }

    private int node(boolean[] units, int next, int other) {
        if (sets.size() == MOST_NODES) {
            throw new IllegalArgumentException("it takes too many states");
        }
        sets.add(units);
        ways.add(new int[] {next, other});
        return sets.size() - 1;
    }

    /** Puts a part in front of a node; returns where it begins. */
    private int put(Part part, int next) {
        if (part.most < 0) {
            int loop = node(null, next, next);
            ways.get(loop)[0] = putOnce(part, loop);
            next = loop;
        }
        int behind = next;
        for (int i = part.least; i < part.most; i++) {
            next = node(null, putOnce(part, next), behind);
        }
        for (int i = 0; i < part.least; i++) {
            next = putOnce(part, next);
        }
        return next;
    }

    private int putOnce(Part part, int next) {
        if (part.units != null) {
            return node(part.units, next, 0);
        }
        int start = next;
        for (int i = part.parts.size() - 1; i >= 0; i--) {
            int own = put(part.parts.get(i), part.isChoice ? next : start);
            start = part.isChoice && i < part.parts.size() - 1 ? node(null, own, start) : own;
        }
        return start;
    }

    /** Whether the end is reached from a node without a unit. */
    private boolean reaches(int from) {
        return closure(new int[] {from}, 1).indexOf(0) == 0;
    }

    /** The nodes that are reached from some without a unit: those that take one and the end, ascending, as a text. */
    private String closure(int[] from, int count) {
        boolean[] seen = new boolean[sets.size()];
        int[] open = new int[2 * sets.size() + count];
        int left = count;
        System.arraycopy(from, 0, open, 0, count);
        while (left > 0) {
            int node = open[--left];
            if (seen[node]) {
                continue;
            }
            seen[node] = true;
            if (node != 0 && sets.get(node) == null) {
                for (int next : ways.get(node)) {
                    if (!seen[next]) {
                        open[left++] = next;
                    }
                }
            }
        }
        StringBuilder all = new StringBuilder();
        for (int node = 0; node < seen.length; node++) {
            if (seen[node] && (node == 0 || sets.get(node) != null)) {
                all.append((char) node);
            }
        }
        return all.toString();
    }

    /** The deterministic automaton from a node on. */
    private String table(int start) {
        int[] classes = new int[UNITS];
        int[] first = new int[UNITS];
        int count = classes(classes, first);
        StringBuilder table = new StringBuilder();
        table.append((char) count);
        for (int unit = 0; unit < UNITS; unit++) {
            table.append((char) classes[unit]);
        }
        List<String> states = new ArrayList<String>();
        Map<String, Integer> places = new HashMap<String, Integer>();
        states.add(closure(new int[] {start}, 1));
        places.put(states.get(0), 0);
        for (int i = 0; i < states.size(); i++) {
            String state = states.get(i);
            table.append((char) (state.indexOf(0) == 0 ? 1 : 0));
            for (int c = 0; c < count; c++) {
                int[] to = new int[state.length()];
                int reached = 0;
                for (int n = 0; n < state.length(); n++) {
                    boolean[] set = sets.get(state.charAt(n));
                    if (set != null && set[first[c]]) {
                        to[reached++] = ways.get(state.charAt(n))[0];
                    }
                }
                if (reached == 0) {
                    table.append((char) 0);
                    continue;
                }
                String next = closure(to, reached);
                Integer place = places.get(next);
                if (place == null) {
                    place = states.size();
                    if (place == MOST_STATES) {
                        throw new IllegalArgumentException("all of them together take too many states");
                    }
                    states.add(next);
                    places.put(next, place);
                }
                table.append((char) (place + 1));
            }
        }
        return table.toString();
    }

    /** Units that no node tells apart are one class: its number by the unit, and its first unit. Returns how many there are. */
    private int classes(int[] classes, int[] first) {
        Map<String, Integer> known = new HashMap<String, Integer>();
        for (int unit = 0; unit < UNITS; unit++) {
            StringBuilder in = new StringBuilder();
            for (boolean[] set : sets) {
                if (set != null) {
                    in.append(set[unit] ? '1' : '0');
                }
            }
            Integer number = known.get(in.toString());
            if (number == null) {
                number = known.size();
                first[number] = unit;
                known.put(in.toString(), number);
            }
            classes[unit] = number;
        }
        return known.size();
    }
}
