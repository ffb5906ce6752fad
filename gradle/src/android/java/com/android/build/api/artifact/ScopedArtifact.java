package com.android.build.api.artifact;

/** Declared by hand to compile against. */
public abstract class ScopedArtifact {
    public static final class CLASSES extends ScopedArtifact {
        public static final CLASSES INSTANCE = null;
    }
}
