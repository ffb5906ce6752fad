package harness;

import java.io.File;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Scanner;
import org.gradle.api.internal.StartParameterInternal;
import org.gradle.api.internal.file.FileCollectionFactory;
import org.gradle.cli.CommandLineParser;
import org.gradle.initialization.DefaultBuildCancellationToken;
import org.gradle.initialization.DefaultBuildRequestContext;
import org.gradle.initialization.DefaultBuildRequestMetaData;
import org.gradle.initialization.NoOpBuildEventConsumer;
import org.gradle.initialization.layout.BuildLayoutFactory;
import org.gradle.internal.buildprocess.BuildProcessState;
import org.gradle.internal.classpath.ClassPath;
import org.gradle.internal.instrumentation.agent.AgentStatus;
import org.gradle.internal.logging.LoggingManagerInternal;
import org.gradle.internal.logging.services.DefaultLoggingManagerFactory;
import org.gradle.internal.logging.services.LoggingServiceRegistry;
import org.gradle.internal.nativeintegration.services.NativeServices;
import org.gradle.internal.service.ServiceRegistry;
import org.gradle.launcher.cli.BuildEnvironmentConfigurationConverter;
import org.gradle.launcher.cli.Parameters;
import org.gradle.launcher.exec.BuildExecutor;
import org.gradle.launcher.exec.DefaultBuildActionParameters;
import org.gradle.tooling.internal.provider.action.ExecuteBuildAction;

/**
 * A command line for a Gradle whose jar has none, out of Gradle's own parts. Each line of the input is a build's arguments with tabs
 * between them; the builds run in this process, and a line tells the end of each, with its status.
 */
public class GradleBuilds {
    public static void main(String[] arguments) {
        ServiceRegistry logging = LoggingServiceRegistry.newCommandLineProcessLogging();
        NativeServices.initializeOnClient(new File(System.getenv("GRADLE_USER_HOME")), NativeServices.NativeServicesMode.ENABLED);
        try (BuildProcessState process = new BuildProcessState(true, AgentStatus.disabled(), ClassPath.EMPTY, logging,
                                                               NativeServices.getInstance())) {
            Scanner lines = new Scanner(System.in, "UTF-8");
            while (lines.hasNextLine()) {
                boolean failed = build(process.getServices(), lines.nextLine().split("\t"));
                System.out.println("\nBUILD ENDED " + (failed ? 1 : 0));
                System.out.flush();
            }
        }
        System.exit(0);
    }

    private static boolean build(ServiceRegistry services, String[] arguments) {
        BuildEnvironmentConfigurationConverter converter =
            new BuildEnvironmentConfigurationConverter(new BuildLayoutFactory(), services.get(FileCollectionFactory.class));
        CommandLineParser parser = new CommandLineParser();
        converter.configure(parser);
        Parameters parameters = converter.convertParameters(parser.parse(Arrays.asList(arguments)), new File("").getAbsoluteFile());
        StartParameterInternal start = parameters.getStartParameter();
        Map<String, String> properties = new HashMap<>();
        System.getProperties().stringPropertyNames().forEach(name -> properties.put(name, System.getProperty(name)));
        properties.putAll(parameters.getDaemonParameters().getSystemProperties());
        LoggingManagerInternal log = services.get(DefaultLoggingManagerFactory.class).create();
        log.setLevelInternal(start.getLogLevel());
        log.attachProcessConsole(start.getConsoleOutput());
        log.start();
        try {
            return services.get(BuildExecutor.class).execute(new ExecuteBuildAction(start),
                new DefaultBuildActionParameters(properties, System.getenv(), start.getCurrentDir(), start.getLogLevel(), false, ClassPath.EMPTY),
                new DefaultBuildRequestContext(new DefaultBuildRequestMetaData(System.currentTimeMillis()), new DefaultBuildCancellationToken(),
                    new NoOpBuildEventConsumer())).hasFailure();
        } finally {
            log.stop();
        }
    }
}
