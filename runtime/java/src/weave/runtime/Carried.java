package weave.runtime;

import java.util.concurrent.Callable;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;

/** A lambda with the context in which it runs. */
abstract class Carried {
    private final Span span;
    private final Object task;

    Carried(Span span, Object task) {
        this.span = span;
        this.task = task;
    }

    final Turn enter() {
        return Hooks.enter(span);
    }

    @Override
    public String toString() {
        return task.toString();
    }

    static final class Run extends Carried implements Runnable {
        private final Runnable task;

        Run(Span span, Runnable task) {
            super(span, task);
            this.task = task;
        }

        @Override
        public void run() {
            Turn turn = enter();
            try {
                task.run();
            } finally {
                Hooks.leave(turn);
            }
        }
    }

    static final class Call<T> extends Carried implements Callable<T> {
        private final Callable<T> task;

        Call(Span span, Callable<T> task) {
            super(span, task);
            this.task = task;
        }

        @Override
        public T call() throws Exception {
            Turn turn = enter();
            try {
                return task.call();
            } finally {
                Hooks.leave(turn);
            }
        }
    }

    static final class Get<T> extends Carried implements Supplier<T> {
        private final Supplier<T> task;

        Get(Span span, Supplier<T> task) {
            super(span, task);
            this.task = task;
        }

        @Override
        public T get() {
            Turn turn = enter();
            try {
                return task.get();
            } finally {
                Hooks.leave(turn);
            }
        }
    }

    static final class Apply<A, T> extends Carried implements Function<A, T> {
        private final Function<A, T> task;

        Apply(Span span, Function<A, T> task) {
            super(span, task);
            this.task = task;
        }

        @Override
        public T apply(A a) {
            Turn turn = enter();
            try {
                return task.apply(a);
            } finally {
                Hooks.leave(turn);
            }
        }
    }

    static final class ApplyBoth<A, B, T> extends Carried implements BiFunction<A, B, T> {
        private final BiFunction<A, B, T> task;

        ApplyBoth(Span span, BiFunction<A, B, T> task) {
            super(span, task);
            this.task = task;
        }

        @Override
        public T apply(A a, B b) {
            Turn turn = enter();
            try {
                return task.apply(a, b);
            } finally {
                Hooks.leave(turn);
            }
        }
    }

    static final class Accept<A> extends Carried implements Consumer<A> {
        private final Consumer<A> task;

        Accept(Span span, Consumer<A> task) {
            super(span, task);
            this.task = task;
        }

        @Override
        public void accept(A a) {
            Turn turn = enter();
            try {
                task.accept(a);
            } finally {
                Hooks.leave(turn);
            }
        }
    }

    static final class AcceptBoth<A, B> extends Carried implements BiConsumer<A, B> {
        private final BiConsumer<A, B> task;

        AcceptBoth(Span span, BiConsumer<A, B> task) {
            super(span, task);
            this.task = task;
        }

        @Override
        public void accept(A a, B b) {
            Turn turn = enter();
            try {
                task.accept(a, b);
            } finally {
                Hooks.leave(turn);
            }
        }
    }
}
