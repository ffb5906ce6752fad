package dev.weave.build;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Reports of aspects that put a hook nowhere. Behind its first line a report has an aspect a line: what names it, a tab, and what to say
 * of it. One rules file may serve many projects: the build warns of an aspect only if it matches in none of them.
 */
public final class IdleReports {
    private IdleReports() { }

    /** The idle aspects of a report, with what to say of each. */
    public static Map<String, String> of(List<String> report) {
        Map<String, String> idle = new TreeMap<>();
        for (String line : report.subList(1, report.size())) {
            int text = line.lastIndexOf('\t');
            idle.put(line.substring(0, text), line.substring(text + 1));
        }
        return idle;
    }

    /** Those that are idle in both; the first is null where there is no other yet. */
    public static Map<String, String> both(Map<String, String> all, Map<String, String> here) {
        if (all == null) {
            return here;
        }
        all.keySet().retainAll(here.keySet());
        // The longer one says why methods that match were left out.
        all.replaceAll((aspect, text) -> text.length() >= here.get(aspect).length() ? text : here.get(aspect));
        return all;
    }
}
