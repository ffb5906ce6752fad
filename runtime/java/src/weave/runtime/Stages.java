package weave.runtime;

import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.BiConsumer;

/** Spans of calls that give a stage: they end when that is complete. Android has stages from API level 24 on. */
final class Stages implements BiConsumer<Object, Throwable> {
    private final Span span;

    private Stages(Span span) {
        this.span = span;
    }

    static boolean is(Object stage) {
        return stage instanceof CompletionStage;
    }

    /** The span ends with the stage. */
    static void follow(Object stage, Span span) {
        try {
            ((CompletionStage<?>) stage).whenComplete(new Stages(span));
        } catch (RuntimeException unruly) {
            Hooks.complete(span, null); // a stage of the program's own that takes nothing
        }
    }

    @Override
    public void accept(Object value, Throwable failure) {
        boolean wrapped = failure instanceof CompletionException && failure.getCause() != null;
        Hooks.complete(span, wrapped ? failure.getCause() : failure);
    }
}
