package dev.weave.maven;

import dev.weave.build.IdleReports;
import java.io.File;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.maven.execution.ExecutionEvent;
import org.apache.maven.execution.ExecutionListener;
import org.apache.maven.execution.MavenSession;
import org.apache.maven.model.Plugin;
import org.apache.maven.model.PluginExecution;
import org.apache.maven.plugin.logging.Log;
import org.apache.maven.project.MavenProject;

/**
 * Warns of aspects that put a hook nowhere, at the end of a build: one rules file may serve many modules, and most of its aspects
 * mean some of them. Each goal leaves a report of its idle aspects; an aspect that is idle in all of them is warned of.
 */
final class IdleAspects {
    private static final String PLUGIN = "dev.weave:weave-maven-plugin";
    /** The first line of a report: the rules, or that there was nothing to weave. */
    private static final String EMPTY = "empty";

    private IdleAspects() { }

    static Path report(MavenProject project, String goal) {
        return new File(project.getBuild().getDirectory(), "weave/" + goal + ".idle").toPath();
    }

    /** Writes the report of a goal that had nothing to weave. */
    static void nothing(Path report) throws IOException {
        Files8.write(report, EMPTY + "\n");
    }

    /** Writes the report of a weave, which is looked at when the session ends. */
    static void woven(MavenSession session, Path report, List<String> rules, Map<String, String> idle) throws IOException {
        StringBuilder lines = new StringBuilder(String.join("\t", rules)).append('\n');
        idle.forEach((aspect, text) -> lines.append(aspect).append('\t').append(text).append('\n'));
        Files8.write(report, lines.toString());
        synchronized (session.getRequest()) {
            session.getRequest().getData().put(PLUGIN, true);
        }
    }

    /** Looks at all reports when the session ends: only then is known what each module has. Until then, sees tests begin. */
    static void lookAtTheEnd(MavenSession session, Log log) {
        synchronized (session.getRequest()) {
            ExecutionListener before = session.getRequest().getExecutionListener();
            if (before == null || Proxy.isProxyClass(before.getClass()) && before.toString().equals(PLUGIN)) {
                return;
            }
            session.getRequest().setExecutionListener((ExecutionListener) Proxy.newProxyInstance(
                IdleAspects.class.getClassLoader(), new Class<?>[] {ExecutionListener.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("toString")) {
                        return PLUGIN;
                    }
                    if (method.getName().equals("mojoStarted")) {
                        Traces.keep((ExecutionEvent) arguments[0]);
                    }
                    if (method.getName().equals("sessionEnded")) {
                        session.getRequest().setExecutionListener(before);
                        if (session.getRequest().getData().containsKey(PLUGIN)) {
                            warn(session, log);
                        }
                    }
                    try {
                        return method.invoke(before, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                }));
        }
    }

    private static void warn(MavenSession session, Log log) {
        Map<String, Map<String, String>> byRules = new TreeMap<>();
        // Rules above what is built serve modules that this build does not know.
        Path top = session.getTopLevelProject().getBasedir().toPath();
        for (MavenProject project : session.getAllProjects()) {
            for (String goal : goals(project)) {
                try {
                    read(Files.readAllLines(report(project, goal)), byRules);
                } catch (IOException e) {
                    // Never woven: what it has is unknown, and by which rules.
                    return;
                }
            }
        }
        byRules.forEach((rules, idle) -> {
            boolean below = true;
            for (String file : rules.split("\t")) {
                below &= file.startsWith("pack:") || new File(file).toPath().toAbsolutePath().startsWith(top);
            }
            if (below) {
                idle.values().forEach(log::warn);
            }
        });
    }

    private static void read(List<String> lines, Map<String, Map<String, String>> byRules) {
        if (lines.get(0).equals(EMPTY)) {
            return;
        }
        Map<String, String> idle = IdleReports.of(lines);
        byRules.merge(lines.get(0), idle, IdleReports::both);
    }

    /** The goals of this plug-in that a module runs. */
    private static List<String> goals(MavenProject project) {
        List<String> goals = new ArrayList<>();
        Plugin plugin = project.getPackaging().equals("pom") ? null : project.getPlugin(PLUGIN);
        if (plugin != null) {
            for (PluginExecution execution : plugin.getExecutions()) {
                goals.addAll(execution.getGoals());
            }
        }
        return goals;
    }
}
