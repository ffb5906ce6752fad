package com.android.build.api.variant;

import com.android.build.api.artifact.ScopedArtifact;
import kotlin.jvm.functions.Function1;
import org.gradle.api.Task;
import org.gradle.api.file.Directory;
import org.gradle.api.file.RegularFile;
import org.gradle.api.file.RegularFileProperty;
import org.gradle.api.provider.ListProperty;

/** Declared by hand to compile against. */
public interface ScopedArtifactsOperation<T extends Task> {
    void toTransform(ScopedArtifact type, Function1<? super T, ? extends ListProperty<RegularFile>> inputJars,
                     Function1<? super T, ? extends ListProperty<Directory>> inputDirectories,
                     Function1<? super T, ? extends RegularFileProperty> into);
}
