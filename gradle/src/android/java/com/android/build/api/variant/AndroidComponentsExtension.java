package com.android.build.api.variant;

import org.gradle.api.Action;

/** Declared by hand to compile against: its first two parameters are bounded there, which does not matter here. */
public interface AndroidComponentsExtension<D, B, V extends Variant> {
    VariantSelector selector();

    void onVariants(VariantSelector selector, Action<V> callback);
}
