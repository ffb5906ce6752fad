package dev.weave.gradle;

import dev.weave.build.Outcome;
import java.io.File;
import java.util.Collections;
import javax.inject.Inject;
import org.gradle.api.artifacts.transform.CacheableTransform;
import org.gradle.api.artifacts.transform.InputArtifact;
import org.gradle.api.artifacts.transform.TransformAction;
import org.gradle.api.artifacts.transform.TransformOutputs;
import org.gradle.api.artifacts.transform.TransformParameters;
import org.gradle.api.file.FileSystemLocation;
import org.gradle.api.provider.Provider;
import org.gradle.api.tasks.PathSensitive;
import org.gradle.api.tasks.PathSensitivity;
import org.gradle.process.ExecOperations;

/** Weaves a jar that a project depends on. */
@CacheableTransform
public abstract class WeaveTransform implements TransformAction<WeaveTransform.Parameters> {
    /** How. */
    public interface Parameters extends TransformParameters, WeaveSettings { }

    /** The jar. Its name is in the map, so that it matters. */
    @InputArtifact
    @PathSensitive(PathSensitivity.NAME_ONLY)
    public abstract Provider<FileSystemLocation> getInput();

    @Inject
    protected abstract ExecOperations getExec();

    @Override
    public void transform(TransformOutputs outputs) {
        File input = getInput().get().getAsFile();
        File output = outputs.file("woven/" + input.getName());
        Weaver weaver = new Weaver(getExec(), getParameters(), output.getParentFile());
        Outcome outcome = weaver.weave(input, output, Collections.singletonList("--no-runtime"), Collections.emptyList());
        IdleReports.write(IdleReports.besideJar(output), weaver, outcome);
    }
}
