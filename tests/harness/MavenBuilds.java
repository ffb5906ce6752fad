package harness;

import java.util.Properties;
import java.util.Scanner;
import org.apache.maven.cli.MavenCli;
import org.codehaus.plexus.classworlds.ClassWorld;

/**
 * Maven's own command, in a process that stays. Each line of the input is a build's arguments with tabs between them, the first
 * of them its folder; a line tells the end of each build, with its status.
 */
public class MavenBuilds {
    public static int main(String[] arguments, ClassWorld world) {
        Scanner lines = new Scanner(System.in, "UTF-8");
        while (lines.hasNextLine()) {
            String[] build = lines.nextLine().split("\t");
            // A build makes what its command line defines a property of the process.
            Properties before = (Properties) System.getProperties().clone();
            System.setProperty("maven.multiModuleProjectDirectory", build[0]);
            int status = new MavenCli(world).doMain(java.util.Arrays.copyOfRange(build, 1, build.length), build[0], null, null);
            System.setProperties(before);
            System.out.println("\nBUILD ENDED " + status);
            System.out.flush();
        }
        return 0;
    }
}
