package dev.weave.maven;

import java.io.File;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Properties;
import org.apache.maven.execution.MavenSession;
import org.apache.maven.model.Plugin;
import org.apache.maven.project.MavenProject;

/** Has tests write their traces where `clean` takes them, unless the user says where. */
final class Traces {
    private static final String SETTING = "weave.trace";
    private static final String VARIABLE = "WEAVE_TRACE";
    private static final String WORKING = "workingDirectory";
    /** Where the session's data says which place this plug-in has named. */
    private static final String KEY = "dev.weave.traces";

    private Traces() { }

    /**
     * Surefire and Failsafe hand a session's properties to the tests, over those of their configuration. The path is relative, so that
     * it is right for all modules: tests run in their module's folder. Where they do not, it is absolute: the module's, or, if modules
     * are built at the same time, the first one's.
     */
    static void keep(MavenSession session, MavenProject project) {
        Properties properties = session.getUserProperties();
        synchronized (session.getRequest()) {
            Object own = session.getRequest().getData().get(KEY);
            boolean named = System.getenv(VARIABLE) != null || properties.containsKey(SETTING) && !properties.get(SETTING).equals(own)
                || session.getProjects().stream().anyMatch(p -> isIn(p, SETTING) || isIn(p, VARIABLE));
            if (named) {
                return;
            }
            boolean alone = session.getRequest().getDegreeOfConcurrency() <= 1;
            boolean elsewhere = alone ? isIn(project, WORKING) : session.getProjects().stream().anyMatch(p -> isIn(p, WORKING));
            MavenProject of = elsewhere && !alone ? session.getTopLevelProject() : project;
            Path build = new File(of.getBuild().getDirectory()).toPath().toAbsolutePath();
            Path folder = (elsewhere ? build : project.getBasedir().toPath().toAbsolutePath().relativize(build)).resolve("weave/traces");
            properties.setProperty(SETTING, folder + "/");
            session.getRequest().getData().put(KEY, folder + "/");
        }
    }

    /** Whether a project's tests are run with a setting. */
    private static boolean isIn(MavenProject project, String setting) {
        if (names(project.getProperties().getProperty("argLine"), setting)) {
            return true;
        }
        for (String name : Arrays.asList("surefire", "failsafe")) {
            Plugin plugin = project.getPlugin("org.apache.maven.plugins:maven-" + name + "-plugin");
            if (plugin != null && (names(plugin.getConfiguration(), setting)
                || plugin.getExecutions().stream().anyMatch(execution -> names(execution.getConfiguration(), setting)))) {
                return true;
            }
        }
        return false;
    }

    private static boolean names(Object configuration, String setting) {
        return configuration != null && configuration.toString().contains(setting);
    }
}
