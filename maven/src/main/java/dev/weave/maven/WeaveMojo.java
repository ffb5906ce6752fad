package dev.weave.maven;

import java.io.File;
import org.apache.maven.project.MavenProject;

/** Weaves the classes of the project. */
public class WeaveMojo extends ClassesGoal {
    @Override
    File folder() {
        return new File(project.getBuild().getOutputDirectory());
    }

    @Override
    void setFolder(MavenProject project, File folder) {
        project.getBuild().setOutputDirectory(folder.getPath());
    }

    @Override
    String goal() {
        return "weave";
    }

    @Override
    String kind() {
        return "main";
    }

    @Override
    String artifactName() {
        return project.getArtifactId();
    }
}
