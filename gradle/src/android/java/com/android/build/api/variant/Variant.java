package com.android.build.api.variant;

/** Declared by hand to compile against: what a variant has from its supertypes. */
public interface Variant extends Component { }
