package dev.weave.build;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** What the program answers: messages, one JSON object a line, and a summary, one object. */
public final class Outcome {
    /** So many warnings of a sort are shown. */
    private static final int SHOWN = 10;

    private final List<Message> messages = new ArrayList<>();
    private final Map<?, ?> summary;

    Outcome(Ran ran, BuildTool tool) {
        for (String line : ran.messages.split("\\R")) {
            if (!line.trim().isEmpty()) {
                messages.add(new Message(line, tool));
            }
        }
        // Where it failed, there is none.
        summary = ran.status == 0 && !ran.output.trim().isEmpty() ? tool.object(ran.output) : Collections.emptyMap();
    }

    List<String> errors(Console console) {
        return messages.stream().filter(message -> message.isError).map(message -> message.told(console)).collect(Collectors.toList());
    }

    /** Tells the warnings, without those of idle aspects: other projects may have what these mean. */
    void warn(Console console) {
        Map<String, Integer> count = new TreeMap<>();
        for (Message message : messages) {
            if (!message.isIdle()) {
                if (count.merge(message.code, 1, Integer::sum) <= SHOWN) {
                    console.warn(message.told(console));
                } else {
                    console.detail(message.told(console));
                }
            }
        }
        count.forEach((code, n) -> {
            if (n > SHOWN) {
                console.warn(n - SHOWN + " more of " + code + " (" + console.detailsOption() + " shows them)");
            }
        });
    }

    List<Message> idle() {
        return messages.stream().filter(Message::isIdle).collect(Collectors.toList());
    }

    /** Tells of the aspects that put a hook nowhere, where no other project can have what they mean. */
    public void warnOfIdle(Console console) {
        idle().forEach(message -> console.warn(message.told(console)));
    }

    /** Whether the rules ask for base types, which the class path has. */
    public boolean asksForBaseTypes() {
        return Boolean.TRUE.equals(summary.get("extends"));
    }

    /** How many methods were woven before this weave. */
    public int alreadyWoven() {
        Object left = summary.get("left");
        Object count = left instanceof Map ? ((Map<?, ?>) left).get("already-woven") : null;
        return count instanceof Number ? ((Number) count).intValue() : 0;
    }
}
