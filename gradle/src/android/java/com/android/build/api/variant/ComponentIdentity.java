package com.android.build.api.variant;

/** Declared by hand to compile against. */
public interface ComponentIdentity {
    String getName();
}
