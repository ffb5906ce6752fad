package dev.weave.maven;

import java.io.File;
import org.apache.maven.project.MavenProject;

/** Weaves the classes of the project's tests. */
public class WeaveTestsMojo extends ClassesGoal {
    @Override
    File folder() {
        return new File(project.getBuild().getTestOutputDirectory());
    }

    @Override
    void setFolder(MavenProject project, File folder) {
        project.getBuild().setTestOutputDirectory(folder.getPath());
    }

    @Override
    String goal() {
        return "weave-tests";
    }

    @Override
    String kind() {
        return "test";
    }

    @Override
    String artifactName() {
        return project.getArtifactId() + "-tests";
    }
}
