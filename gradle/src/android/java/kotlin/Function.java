package kotlin;

/** Declared by hand to compile against: Kotlin's library is there where the Android plug-in is. */
public interface Function<R> { }
