package dev.weave.maven;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.maven.plugin.logging.Log;

/** What the program answers: messages, one JSON object a line, and a summary, one object. */
final class Outcome {
    /** So many warnings of a sort are shown; {@code -X} shows all. */
    private static final int SHOWN = 10;
    private static final String IDLE = "WV0120";

    final int status;
    private final List<Message> messages = new ArrayList<>();
    private final JsonObject summary;

    Outcome(int status, String messages, String summary) {
        this.status = status;
        for (String line : messages.split("\\R")) {
            if (!line.trim().isEmpty()) {
                this.messages.add(message(line));
            }
        }
        this.summary = summary.trim().isEmpty() ? new JsonObject() : new JsonParser().parse(summary).getAsJsonObject();
    }

    /** One message, in the form that Maven's compiler has and IDEs read. */
    private static final class Message {
        boolean isError = true;
        String code = "";
        String aspect = "";
        String place = "";
        String text;

        @Override
        public String toString() {
            return place + text + (code.isEmpty() ? "" : " (" + code + ")");
        }
    }

    private static Message message(String line) {
        Message message = new Message();
        try {
            JsonObject json = new JsonParser().parse(line).getAsJsonObject();
            message.isError = !json.get("severity").getAsString().equals("warning");
            message.code = json.get("code").getAsString();
            message.text = json.get("message").getAsString();
            message.aspect = json.has("aspect") ? json.get("aspect").getAsString() : "";
            if (json.has("file")) {
                message.place = json.get("file").getAsString() + ":[" + json.get("line").getAsInt() + "," + json.get("column").getAsInt() + "] ";
            }
        } catch (JsonParseException | IllegalStateException | NullPointerException e) {
            // The system wrote it, or a program that is no weave.
            message.text = line;
        }
        return message;
    }

    /** Logs the messages, without those of idle aspects; answers the first error. */
    String log(Log log) {
        String first = null;
        Map<String, Integer> count = new TreeMap<>();
        for (Message message : messages) {
            if (message.isError) {
                first = first == null ? message.toString() : first;
                log.error(message.toString());
            } else if (!message.code.equals(IDLE)) {
                if (count.merge(message.code, 1, Integer::sum) <= SHOWN) {
                    log.warn(message.toString());
                } else {
                    log.debug(message.toString());
                }
            }
        }
        count.forEach((code, n) -> {
            if (n > SHOWN) {
                log.warn((n - SHOWN) + " more of " + code + " (-X shows them)");
            }
        });
        return first;
    }

    /** The aspects that put a hook nowhere, and what is to be said of each. */
    Map<String, String> idle() {
        Map<String, String> idle = new TreeMap<>();
        for (Message message : messages) {
            if (message.code.equals(IDLE)) {
                idle.put(message.place + "\t" + message.aspect, message.toString());
            }
        }
        return idle;
    }

    /** Whether the rules ask for base types, which the class path has. */
    boolean asksForBaseTypes() {
        JsonElement asks = summary.get("extends");
        return asks != null && asks.getAsBoolean();
    }

    /** How many methods were woven before this weave. */
    int alreadyWoven() {
        JsonObject left = summary.getAsJsonObject("left");
        return left != null && left.has("already-woven") ? left.get("already-woven").getAsInt() : 0;
    }
}
