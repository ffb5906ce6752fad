package dev.weave.gradle;

import groovy.json.JsonException;
import groovy.json.JsonSlurper;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.gradle.api.logging.LogLevel;
import org.gradle.api.logging.Logger;

/** What the program answers: messages, one JSON object a line, and a summary, one object. */
final class Outcome {
    /** So many warnings of a sort are shown; {@code --info} shows all. */
    private static final int SHOWN = 10;
    private static final String IDLE = "WV0120";

    private final List<Message> messages = new ArrayList<>();
    private final Map<?, ?> summary;

    Outcome(String messages, String summary) {
        for (String line : messages.split("\\R")) {
            if (!line.trim().isEmpty()) {
                this.messages.add(message(line));
            }
        }
        this.summary = summary.trim().isEmpty() ? Collections.emptyMap() : (Map<?, ?>) new JsonSlurper().parseText(summary);
    }

    /** One message. */
    static final class Message {
        final boolean isError;
        final String code;
        /** The rules file and the place in it, or nothing. */
        final String file;
        final String place;
        /** The aspect that it is about, or nothing. */
        final String aspect;
        final String text;

        Message(Map<?, ?> json) {
            isError = !"warning".equals(json.get("severity"));
            code = String.valueOf(json.get("code"));
            file = (String) json.get("file");
            place = file == null ? "" : ":" + json.get("line") + ":" + json.get("column") + ": ";
            aspect = json.get("aspect") == null ? "" : (String) json.get("aspect");
            text = String.valueOf(json.get("message"));
        }

        @Override
        public String toString() {
            return (file == null ? "" : file + place) + text + (code.equals("null") ? "" : " (" + code + ")");
        }
    }

    private static Message message(String line) {
        try {
            Object json = new JsonSlurper().parseText(line);
            if (json instanceof Map) {
                return new Message((Map<?, ?>) json);
            }
        } catch (JsonException e) {
            // The system wrote it, or a program that is no weave.
        }
        return new Message(Collections.singletonMap("message", line));
    }

    /** The errors, a line each. */
    String errors() {
        StringBuilder out = new StringBuilder();
        for (Message message : messages) {
            if (message.isError) {
                out.append('\n').append(message);
            }
        }
        return out.toString();
    }

    /** Logs the warnings, without those of idle aspects. */
    void warn(Logger logger) {
        Map<String, Integer> count = new HashMap<>();
        for (Message message : messages) {
            if (!message.code.equals(IDLE)) {
                int n = count.merge(message.code, 1, Integer::sum);
                logger.log(n <= SHOWN ? LogLevel.WARN : LogLevel.INFO, "{}", "weave: " + message);
            }
        }
        count.forEach((code, n) -> {
            if (n > SHOWN) {
                logger.warn("weave: {} more of {} (--info shows them)", n - SHOWN, code);
            }
        });
    }

    /** The aspects that put a hook nowhere. */
    List<Message> idle() {
        List<Message> idle = new ArrayList<>();
        for (Message message : messages) {
            if (message.code.equals(IDLE)) {
                idle.add(message);
            }
        }
        return idle;
    }

    /** How many methods were woven before this weave. */
    int alreadyWoven() {
        Object left = summary.get("left");
        Object count = left instanceof Map ? ((Map<?, ?>) left).get("already-woven") : null;
        return count instanceof Number ? ((Number) count).intValue() : 0;
    }
}
