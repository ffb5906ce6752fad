package dev.weave.gradle;

import java.io.File;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.gradle.api.Transformer;
import org.gradle.api.file.Directory;
import org.gradle.api.file.FileCollection;
import org.gradle.api.file.FileSystemLocation;
import org.gradle.api.provider.Provider;

/**
 * Replaces the woven folder of a source set by the compilers' folders. Compilers read those: Kotlin copies the bodies of inline
 * functions out of them, and nothing is compiled anew because of other rules.
 */
final class CompiledClasses implements Transformer<List<File>, Set<FileSystemLocation>>, Serializable {
    private static final long serialVersionUID = 1;

    private final Provider<Directory> woven;
    private final FileCollection compiled;

    CompiledClasses(Provider<Directory> woven, FileCollection compiled) {
        this.woven = woven;
        this.compiled = compiled;
    }

    @Override
    public List<File> transform(Set<FileSystemLocation> classPath) {
        File folder = woven.get().getAsFile();
        List<File> files = new ArrayList<>();
        for (FileSystemLocation location : classPath) {
            if (location.getAsFile().equals(folder)) {
                files.addAll(compiled.getFiles());
            } else {
                files.add(location.getAsFile());
            }
        }
        return files;
    }
}
