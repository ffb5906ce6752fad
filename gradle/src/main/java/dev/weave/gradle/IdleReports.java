package dev.weave.gradle;

import dev.weave.build.IdleAspects;
import dev.weave.build.Outcome;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;

/** Writes reports of idle aspects. They say nothing of where the project lies: the build cache has them for other checkouts, too. */
final class IdleReports {
    private static final String WOVEN = "woven";

    private IdleReports() { }

    static void write(File report, Weaver weaver, Outcome outcome) {
        try {
            IdleAspects.report(report.toPath(), WOVEN, weaver.rulesNames(), outcome);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Where there were no classes. */
    static void nothing(File report) {
        try {
            IdleAspects.nothing(report.toPath());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Where the report of a woven jar lies. */
    static File besideJar(File jar) {
        return new File(jar.getParentFile(), jar.getName() + ".idle");
    }
}
