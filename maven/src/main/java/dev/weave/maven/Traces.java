package dev.weave.maven;

import java.io.File;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import org.apache.maven.execution.ExecutionEvent;
import org.apache.maven.plugin.MojoExecution;
import org.apache.maven.project.MavenProject;
import org.codehaus.plexus.util.xml.Xpp3Dom;

/** Has tests write their traces where `clean` takes them, and processes that they start, unless the user says where. */
final class Traces {
    private static final String SETTING = "weave.trace";
    private static final String VARIABLE = "WEAVE_TRACE";
    private static final String ENVIRONMENT = "environmentVariables";
    private static final List<String> PLUGINS = Arrays.asList("maven-surefire-plugin", "maven-failsafe-plugin");

    private Traces() { }

    /** A goal begins, and has not read its configuration yet. */
    static void keep(ExecutionEvent event) {
        MojoExecution execution = event.getMojoExecution();
        if (execution == null || !PLUGINS.contains(execution.getArtifactId()) || execution.getConfiguration() == null) {
            return;
        }
        MavenProject project = event.getProject();
        Xpp3Dom configuration = execution.getConfiguration();
        Properties user = event.getSession().getUserProperties();
        boolean named = System.getenv(VARIABLE) != null || user.containsKey(SETTING)
            || names(configuration) || names(user.getProperty("argLine")) || names(project.getProperties().getProperty("argLine"));
        if (!named) {
            String traces = new File(project.getBuild().getDirectory(), "weave/traces").getAbsolutePath() + File.separator;
            add(configuration, ENVIRONMENT, VARIABLE, traces);
            if (inside(configuration, user, project.getProperties())) {
                // Maven's own process has its environment already.
                add(configuration, "systemPropertyVariables", SETTING, traces);
            }
        }
    }

    private static void add(Xpp3Dom configuration, String map, String name, String value) {
        Xpp3Dom values = configuration.getChild(map);
        if (values == null) {
            values = new Xpp3Dom(map);
            configuration.addChild(values);
        }
        Xpp3Dom one = new Xpp3Dom(name);
        one.setValue(value);
        values.addChild(one);
    }

    /** Whether tests run in Maven's own process. */
    private static boolean inside(Xpp3Dom configuration, Properties user, Properties project) {
        Xpp3Dom forks = configuration.getChild("forkCount");
        String count = forks == null ? null : forks.getValue();
        String named = "${forkCount}".equals(count) ? user.getProperty("forkCount", project.getProperty("forkCount")) : count;
        return named != null && named.trim().equals("0");
    }

    private static boolean names(Object configuration) {
        return configuration != null && (configuration.toString().contains(SETTING) || configuration.toString().contains(VARIABLE));
    }
}
