package dev.weave.gradle;

import com.android.build.api.artifact.ScopedArtifact;
import com.android.build.api.variant.AndroidComponentsExtension;
import com.android.build.api.variant.ScopedArtifacts;
import com.android.build.api.variant.Variant;
import org.gradle.api.GradleException;
import org.gradle.api.Project;
import org.gradle.api.tasks.TaskProvider;

/**
 * Weaves the classes of each variant of an Android project, dependencies included. Nothing else names the Android plug-in's types,
 * so that this class is loaded only where that plug-in is.
 */
final class AndroidVariants {
    private AndroidVariants() { }

    static void weave(Project project, WeaveExtension weave) {
        AndroidComponentsExtension<?, ?, ?> android;
        try {
            android = project.getExtensions().getByType(AndroidComponentsExtension.class);
        } catch (NoClassDefFoundError e) {
            throw new GradleException("weave does not see the Android plug-in: apply both in the `plugins` block of one build script,"
                + " and let it be version 8 or newer.", e);
        }
        variants(project, weave, android);
    }

    private static <V extends Variant> void variants(Project project, WeaveExtension weave, AndroidComponentsExtension<?, ?, V> android) {
        android.onVariants(android.selector().all(), variant -> {
            if (!weave.getEnabled().get()) {
                return;
            }
            String name = variant.getName();
            TaskProvider<WeaveScoped> task = project.getTasks().register(
                "weave" + Character.toUpperCase(name.charAt(0)) + name.substring(1) + "Classes", WeaveScoped.class, t -> {
                    t.setDescription("Weaves the classes of the variant " + name + ".");
                    t.getArtifactName().set(name);
                    t.getSymbols().set(project.getLayout().getBuildDirectory().file("weave/" + name + ".wsym"));
                });
            variant.getArtifacts().forScope(ScopedArtifacts.Scope.ALL).use(task).toTransform(
                ScopedArtifact.CLASSES.INSTANCE, WeaveScoped::getJars, WeaveScoped::getFolders, WeaveScoped::getOutput);
        });
    }
}
