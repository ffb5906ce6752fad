package com.android.build.api.variant;

import com.android.build.api.artifact.Artifacts;

/** Declared by hand to compile against. */
public interface Component extends ComponentIdentity {
    Artifacts getArtifacts();
}
