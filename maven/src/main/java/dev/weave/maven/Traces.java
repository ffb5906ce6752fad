package dev.weave.maven;

import java.io.File;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Properties;
import org.apache.maven.execution.MavenSession;
import org.apache.maven.model.Plugin;
import org.apache.maven.model.PluginExecution;
import org.apache.maven.project.MavenProject;

/** Has tests write their traces where `clean` takes them, unless the user says where. */
final class Traces {
    private static final String SETTING = "weave.trace";
    private static final String VARIABLE = "WEAVE_TRACE";

    private Traces() { }

    /**
     * Surefire and Failsafe hand a session's properties to the tests, over those of their configuration. The path is relative: tests
     * run in their module's folder.
     */
    static void keep(MavenSession session, MavenProject project) {
        Properties properties = session.getUserProperties();
        boolean named = System.getenv(VARIABLE) != null || properties.containsKey(SETTING)
            || session.getProjects().stream().anyMatch(Traces::isNamed);
        if (!named) {
            Path build = new File(project.getBuild().getDirectory()).toPath();
            properties.setProperty(SETTING, project.getBasedir().toPath().relativize(build).resolve("weave/traces") + "/");
        }
    }

    private static boolean isNamed(MavenProject project) {
        if (names(project.getProperties().getProperty("argLine"))) {
            return true;
        }
        for (String name : Arrays.asList("surefire", "failsafe")) {
            Plugin plugin = project.getPlugin("org.apache.maven.plugins:maven-" + name + "-plugin");
            if (plugin != null && (names(plugin.getConfiguration())
                || plugin.getExecutions().stream().map(PluginExecution::getConfiguration).anyMatch(Traces::names))) {
                return true;
            }
        }
        return false;
    }

    private static boolean names(Object configuration) {
        return configuration != null && (configuration.toString().contains(SETTING) || configuration.toString().contains(VARIABLE));
    }
}
