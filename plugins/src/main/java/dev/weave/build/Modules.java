package dev.weave.build;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/** Which dependencies a user means: {@code group:module}, with {@code *} for any characters. */
public final class Modules {
    private final List<Pattern> patterns = new ArrayList<>();

    /** Adds some; answers whether it is a pattern. */
    public boolean add(String pattern) {
        if (pattern.split(":", -1).length != 2) {
            return false;
        }
        patterns.add(Pattern.compile(Pattern.quote(pattern).replace("*", "\\E.*\\Q")));
        return true;
    }

    public boolean isEmpty() {
        return patterns.isEmpty();
    }

    public boolean mean(String group, String module) {
        String name = group + ":" + module;
        return patterns.stream().anyMatch(pattern -> pattern.matcher(name).matches());
    }
}
