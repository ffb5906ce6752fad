package dev.weave.maven;

import com.google.gson.Gson;
import dev.weave.build.BuildTool;
import dev.weave.build.Ran;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.apache.maven.plugin.logging.Log;

/** What Maven does in its own way: messages have the form of its compiler's, which IDEs read. */
final class MavenTool implements BuildTool {
    private final Log log;

    MavenTool(Log log) {
        this.log = log;
    }

    @Override
    public void warn(String message) {
        log.warn(message);
    }

    @Override
    public void detail(String message) {
        log.debug(message);
    }

    @Override
    public String detailsOption() {
        return "-X";
    }

    @Override
    public String place(String file, int line, int column) {
        return file + ":[" + line + "," + column + "] ";
    }

    @Override
    public Ran run(List<String> command) throws IOException {
        return Ran.of(command);
    }

    @Override
    public Map<?, ?> object(String json) {
        return new Gson().fromJson(json, Map.class);
    }

    @Override
    public String executableSetting() {
        return "<executable> or -Dweave.executable";
    }
}
