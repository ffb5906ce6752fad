package com.android.build.api.artifact;

import com.android.build.api.variant.ScopedArtifacts;

/** Declared by hand to compile against. */
public interface Artifacts {
    ScopedArtifacts forScope(ScopedArtifacts.Scope scope);
}
