package dev.weave.gradle;

import dev.weave.build.Console;
import org.gradle.api.logging.Logger;
import org.gradle.api.logging.Logging;

/** Tells by Gradle's log. */
class GradleConsole implements Console {
    private static final Logger LOGGER = Logging.getLogger(WeavePlugin.class);

    @Override
    public final void warn(String message) {
        LOGGER.warn("weave: {}", message);
    }

    @Override
    public final void detail(String message) {
        LOGGER.info("weave: {}", message);
    }

    @Override
    public final String detailsOption() {
        return "--info";
    }

    @Override
    public final String place(String file, int line, int column) {
        return file + ":" + line + ":" + column + ": ";
    }
}
