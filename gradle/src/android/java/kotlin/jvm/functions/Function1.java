package kotlin.jvm.functions;

/** Declared by hand to compile against. */
public interface Function1<P1, R> extends kotlin.Function<R> {
    R invoke(P1 p1);
}
