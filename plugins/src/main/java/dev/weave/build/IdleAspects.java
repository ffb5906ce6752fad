package dev.weave.build;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Aspects that put a hook nowhere. One rules file may serve many projects, and most of its aspects mean some of them: each weave leaves a
 * report of its idle aspects, and at the end of a build those are warned of that are idle in all.
 *
 * <p>Behind its first line a report has an aspect a line, with tabs between the rules file, line, column, the aspect's name, and what to
 * say of it. The file is named as it lies beside the first rules file, so that a report is the same in another checkout.
 */
public final class IdleAspects {
    /** In front of a pack's name, where rules are named. */
    public static final String PACK = "pack:";
    /** The first line of a report of no classes. */
    private static final String EMPTY = "empty";

    private IdleAspects() { }

    /** Writes the report of a weave; the first line is the caller's. */
    public static void report(Path report, String first, Collection<String> rules, Outcome outcome) throws IOException {
        List<String> lines = new ArrayList<>();
        lines.add(first);
        for (Message idle : outcome.idle()) {
            lines.add(String.join("\t", idle.file == null ? "" : beside(rules, idle.file), Integer.toString(idle.line),
                Integer.toString(idle.column), idle.aspect, idle.text));
        }
        write(report, lines);
    }

    /** Writes the report of a weave that had no classes. */
    public static void nothing(Path report) throws IOException {
        List<String> lines = new ArrayList<>();
        lines.add(EMPTY);
        write(report, lines);
    }

    private static void write(Path report, List<String> lines) throws IOException {
        Files.createDirectories(report.getParent());
        Files.write(report, lines, StandardCharsets.UTF_8);
    }

    /** The first line of a report, or null where there were no classes. */
    public static String first(Path report) throws IOException {
        String first = Files.readAllLines(report).get(0);
        return first.equals(EMPTY) ? null : first;
    }

    /** Warns of the aspects of these rules that are idle in all reports. Where one is not there, what its weave has is unknown. */
    public static void warn(Collection<String> rules, Collection<Path> reports, Console console) {
        Map<String, String> all = null;
        for (Path report : reports) {
            try {
                List<String> lines = Files.readAllLines(report);
                if (!lines.get(0).equals(EMPTY)) {
                    all = both(all, idle(lines));
                }
            } catch (IOException e) {
                return;
            }
        }
        if (all != null) {
            all.forEach((aspect, text) -> console.warn(told(console, rules, aspect.split("\t", -1), text)));
        }
    }

    /** The idle aspects of a report, with what to say of each. */
    private static Map<String, String> idle(List<String> report) {
        Map<String, String> idle = new TreeMap<>();
        for (String line : report.subList(1, report.size())) {
            int text = line.lastIndexOf('\t');
            idle.put(line.substring(0, text), line.substring(text + 1));
        }
        return idle;
    }

    /** Those that are idle in both; the first is null where there is no other yet. */
    private static Map<String, String> both(Map<String, String> all, Map<String, String> here) {
        if (all == null) {
            return here;
        }
        all.keySet().retainAll(here.keySet());
        // The longer one says why methods that match were left out.
        all.replaceAll((aspect, text) -> text.length() >= here.get(aspect).length() ? text : here.get(aspect));
        return all;
    }

    private static String told(Console console, Collection<String> rules, String[] aspect, String text) {
        Path base = base(rules);
        String file = aspect[0].isEmpty() ? null : base == null ? aspect[0] : base.resolve(aspect[0]).normalize().toString();
        return Message.idle(console, file, Integer.parseInt(aspect[1]), Integer.parseInt(aspect[2]), text);
    }

    /** The folder of the first rules file, or null where there are packs alone. */
    private static Path base(Collection<String> rules) {
        for (String file : rules) {
            if (!file.startsWith(PACK)) {
                return new File(file).getAbsoluteFile().toPath().getParent();
            }
        }
        return null;
    }

    private static String beside(Collection<String> rules, String file) {
        Path base = base(rules);
        Path path = new File(file).getAbsoluteFile().toPath();
        // Files of other drives have no way from one to the other.
        return base == null || !path.getRoot().equals(base.getRoot()) ? file : base.relativize(path).toString();
    }
}
