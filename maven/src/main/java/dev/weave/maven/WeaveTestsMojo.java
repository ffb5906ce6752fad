package dev.weave.maven;

import java.io.File;

/** Weaves the classes of the project's tests. */
public class WeaveTestsMojo extends ClassesGoal {
    @Override
    File folder() {
        return new File(project.getBuild().getTestOutputDirectory());
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
