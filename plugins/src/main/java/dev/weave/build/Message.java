package dev.weave.build;

import java.util.Map;

/** One message of the program: a line of JSON, or of whoever else wrote there. */
final class Message {
    private static final String IDLE = "WV0120";

    final boolean isError;
    /** The code, or nothing. */
    final String code;
    /** The rules file, or null, and the place in it. */
    final String file;
    final int line;
    final int column;
    /** The aspect that it is about, or nothing. */
    final String aspect;
    final String text;

    /** Of what is not JSON, the text counts: the system wrote it, or a program that is no weave. */
    Message(String line, BuildTool tool) {
        Map<?, ?> json = null;
        try {
            json = tool.object(line);
        } catch (RuntimeException e) {
            // Not JSON.
        }
        if (json == null || !(json.get("message") instanceof String)) {
            isError = true;
            code = "";
            file = null;
            this.line = 0;
            column = 0;
            aspect = "";
            text = line;
            return;
        }
        isError = !"warning".equals(json.get("severity"));
        code = text(json.get("code"), "");
        file = text(json.get("file"), null);
        this.line = number(json.get("line"));
        column = number(json.get("column"));
        aspect = text(json.get("aspect"), "");
        text = text(json.get("message"), "");
    }

    private static String text(Object value, String otherwise) {
        return value instanceof String ? (String) value : otherwise;
    }

    private static int number(Object value) {
        return value instanceof Number ? ((Number) value).intValue() : 0;
    }

    /** Whether it says that an aspect puts a hook nowhere. */
    boolean isIdle() {
        return code.equals(IDLE);
    }

    /** The message in a build tool's form. */
    String told(Console console) {
        return told(console, file, line, column, text, code);
    }

    private static String told(Console console, String file, int line, int column, String text, String code) {
        return (file == null ? "" : console.place(file, line, column)) + text + (code.isEmpty() ? "" : " (" + code + ")");
    }

    /** The message of an idle aspect, of which a report has the parts. */
    static String idle(Console console, String file, int line, int column, String text) {
        return told(console, file, line, column, text, IDLE);
    }
}
