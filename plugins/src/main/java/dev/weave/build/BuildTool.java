package dev.weave.build;

import java.io.IOException;
import java.util.List;
import java.util.Map;

/** What the two build tools do in ways of their own. */
public interface BuildTool extends Console {
    /** Runs a command to its end. */
    Ran run(List<String> command) throws IOException;

    /** Reads a JSON object; anything else is a {@code RuntimeException}. */
    Map<?, ?> object(String json);

    /** How a user names a program of one's own. */
    String executableSetting();
}
