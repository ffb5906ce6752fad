package dev.weave.maven;

import dev.weave.build.IdleAspects;
import dev.weave.build.Outcome;
import java.io.File;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
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
final class IdleReports {
    private static final String PLUGIN = "dev.weave:weave-maven-plugin";

    private IdleReports() { }

    static Path report(MavenProject project, String goal) {
        return new File(project.getBuild().getDirectory(), "weave/" + goal + ".idle").toPath();
    }

    /** Writes the report of a weave, which is looked at when the session ends. Its first line names the rules. */
    static void woven(MavenSession session, Path report, List<String> rules, Outcome outcome) throws IOException {
        IdleAspects.report(report, String.join("\t", rules), rules, outcome);
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
                IdleReports.class.getClassLoader(), new Class<?>[] {ExecutionListener.class}, (proxy, method, arguments) -> {
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
        Map<String, List<Path>> byRules = new TreeMap<>();
        for (MavenProject project : session.getAllProjects()) {
            for (String goal : goals(project)) {
                Path report = report(project, goal);
                try {
                    String rules = IdleAspects.first(report);
                    if (rules != null) {
                        byRules.computeIfAbsent(rules, key -> new ArrayList<>()).add(report);
                    }
                } catch (IOException e) {
                    // Never woven: what it has is unknown, and by which rules.
                    return;
                }
            }
        }
        // Rules above what is built serve modules that this build does not know.
        Path top = session.getTopLevelProject().getBasedir().toPath();
        byRules.forEach((names, reports) -> {
            List<String> rules = Arrays.asList(names.split("\t"));
            if (rules.stream().allMatch(file -> file.startsWith(IdleAspects.PACK) || new File(file).toPath().toAbsolutePath().startsWith(top))) {
                IdleAspects.warn(rules, reports, new MavenTool(log));
            }
        });
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
