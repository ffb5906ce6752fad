package weave.runtime;

import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.BinaryOperator;
import java.util.function.Consumer;
import java.util.function.DoubleBinaryOperator;
import java.util.function.DoubleConsumer;
import java.util.function.DoubleFunction;
import java.util.function.DoublePredicate;
import java.util.function.DoubleToIntFunction;
import java.util.function.DoubleToLongFunction;
import java.util.function.DoubleUnaryOperator;
import java.util.function.Function;
import java.util.function.IntBinaryOperator;
import java.util.function.IntConsumer;
import java.util.function.IntFunction;
import java.util.function.IntPredicate;
import java.util.function.IntToDoubleFunction;
import java.util.function.IntToLongFunction;
import java.util.function.IntUnaryOperator;
import java.util.function.LongBinaryOperator;
import java.util.function.LongConsumer;
import java.util.function.LongFunction;
import java.util.function.LongPredicate;
import java.util.function.LongToDoubleFunction;
import java.util.function.LongToIntFunction;
import java.util.function.LongUnaryOperator;
import java.util.function.Predicate;
import java.util.function.ToDoubleFunction;
import java.util.function.ToIntFunction;
import java.util.function.ToLongFunction;
import java.util.stream.BaseStream;

/**
 * Functions that parallel streams call for their elements, on the common pool's threads, which have no context: they run in the one in
 * which they were given to the stream. Functions of a stream that is not parallel then stay as they are.
 */
@SuppressWarnings("overloads") // woven code names the one that it means
public final class Streams {
    private Streams() {}

    /** The context that goes with a function; null where the function stays as it is. */
    private static Span of(BaseStream<?, ?> stream, Object function) {
        if (function == null || function instanceof Carried) {
            return null;
        }
        Span span = Hooks.context();
        try {
            return span != null && stream.isParallel() ? span : null;
        } catch (RuntimeException unruly) {
            return null; // a stream of the program's own
        }
    }

    public static <A, T> Function<A, T> of(BaseStream<?, ?> stream, Function<A, T> function) {
        Span span = of(stream, (Object) function);
        return span == null ? function : new Carried.Apply<A, T>(span, function);
    }

    public static <A, B, T> BiFunction<A, B, T> of(BaseStream<?, ?> stream, BiFunction<A, B, T> function) {
        Span span = of(stream, (Object) function);
        return span == null ? function : new Carried.ApplyBoth<A, B, T>(span, function);
    }

    public static <T> BinaryOperator<T> of(BaseStream<?, ?> stream, BinaryOperator<T> function) {
        Span span = of(stream, (Object) function);
        return span == null ? function : new Join<T>(span, function);
    }

    public static <A> Consumer<A> of(BaseStream<?, ?> stream, Consumer<A> function) {
        Span span = of(stream, (Object) function);
        return span == null ? function : new Carried.Accept<A>(span, function);
    }

    public static <A, B> BiConsumer<A, B> of(BaseStream<?, ?> stream, BiConsumer<A, B> function) {
        Span span = of(stream, (Object) function);
        return span == null ? function : new Carried.AcceptBoth<A, B>(span, function);
    }

    public static <A> Predicate<A> of(BaseStream<?, ?> stream, Predicate<A> function) {
        Span span = of(stream, (Object) function);
        return span == null ? function : new Each<A>(span, function);
    }

    public static <A> ToIntFunction<A> of(BaseStream<?, ?> stream, ToIntFunction<A> function) {
        Span span = of(stream, (Object) function);
        return span == null ? function : new Each<A>(span, function);
    }

    public static <A> ToLongFunction<A> of(BaseStream<?, ?> stream, ToLongFunction<A> function) {
        Span span = of(stream, (Object) function);
        return span == null ? function : new Each<A>(span, function);
    }

    public static <A> ToDoubleFunction<A> of(BaseStream<?, ?> stream, ToDoubleFunction<A> function) {
        Span span = of(stream, (Object) function);
        return span == null ? function : new Each<A>(span, function);
    }

    public static IntUnaryOperator of(BaseStream<?, ?> stream, IntUnaryOperator function) {
        Span span = of(stream, (Object) function);
        return span == null ? function : new EachInt<Object>(span, function);
    }

    public static IntBinaryOperator of(BaseStream<?, ?> stream, IntBinaryOperator function) {
        Span span = of(stream, (Object) function);
        return span == null ? function : new EachInt<Object>(span, function);
    }

    public static <T> IntFunction<T> of(BaseStream<?, ?> stream, IntFunction<T> function) {
        Span span = of(stream, (Object) function);
        return span == null ? function : new EachInt<T>(span, function);
    }

    public static IntPredicate of(BaseStream<?, ?> stream, IntPredicate function) {
        Span span = of(stream, (Object) function);
        return span == null ? function : new EachInt<Object>(span, function);
    }

    public static IntConsumer of(BaseStream<?, ?> stream, IntConsumer function) {
        Span span = of(stream, (Object) function);
        return span == null ? function : new EachInt<Object>(span, function);
    }

    public static IntToLongFunction of(BaseStream<?, ?> stream, IntToLongFunction function) {
        Span span = of(stream, (Object) function);
        return span == null ? function : new EachInt<Object>(span, function);
    }

    public static IntToDoubleFunction of(BaseStream<?, ?> stream, IntToDoubleFunction function) {
        Span span = of(stream, (Object) function);
        return span == null ? function : new EachInt<Object>(span, function);
    }

    public static LongUnaryOperator of(BaseStream<?, ?> stream, LongUnaryOperator function) {
        Span span = of(stream, (Object) function);
        return span == null ? function : new EachLong<Object>(span, function);
    }

    public static LongBinaryOperator of(BaseStream<?, ?> stream, LongBinaryOperator function) {
        Span span = of(stream, (Object) function);
        return span == null ? function : new EachLong<Object>(span, function);
    }

    public static <T> LongFunction<T> of(BaseStream<?, ?> stream, LongFunction<T> function) {
        Span span = of(stream, (Object) function);
        return span == null ? function : new EachLong<T>(span, function);
    }

    public static LongPredicate of(BaseStream<?, ?> stream, LongPredicate function) {
        Span span = of(stream, (Object) function);
        return span == null ? function : new EachLong<Object>(span, function);
    }

    public static LongConsumer of(BaseStream<?, ?> stream, LongConsumer function) {
        Span span = of(stream, (Object) function);
        return span == null ? function : new EachLong<Object>(span, function);
    }

    public static LongToIntFunction of(BaseStream<?, ?> stream, LongToIntFunction function) {
        Span span = of(stream, (Object) function);
        return span == null ? function : new EachLong<Object>(span, function);
    }

    public static LongToDoubleFunction of(BaseStream<?, ?> stream, LongToDoubleFunction function) {
        Span span = of(stream, (Object) function);
        return span == null ? function : new EachLong<Object>(span, function);
    }

    public static DoubleUnaryOperator of(BaseStream<?, ?> stream, DoubleUnaryOperator function) {
        Span span = of(stream, (Object) function);
        return span == null ? function : new EachDouble<Object>(span, function);
    }

    public static DoubleBinaryOperator of(BaseStream<?, ?> stream, DoubleBinaryOperator function) {
        Span span = of(stream, (Object) function);
        return span == null ? function : new EachDouble<Object>(span, function);
    }

    public static <T> DoubleFunction<T> of(BaseStream<?, ?> stream, DoubleFunction<T> function) {
        Span span = of(stream, (Object) function);
        return span == null ? function : new EachDouble<T>(span, function);
    }

    public static DoublePredicate of(BaseStream<?, ?> stream, DoublePredicate function) {
        Span span = of(stream, (Object) function);
        return span == null ? function : new EachDouble<Object>(span, function);
    }

    public static DoubleConsumer of(BaseStream<?, ?> stream, DoubleConsumer function) {
        Span span = of(stream, (Object) function);
        return span == null ? function : new EachDouble<Object>(span, function);
    }

    public static DoubleToIntFunction of(BaseStream<?, ?> stream, DoubleToIntFunction function) {
        Span span = of(stream, (Object) function);
        return span == null ? function : new EachDouble<Object>(span, function);
    }

    public static DoubleToLongFunction of(BaseStream<?, ?> stream, DoubleToLongFunction function) {
        Span span = of(stream, (Object) function);
        return span == null ? function : new EachDouble<Object>(span, function);
    }

    /** What makes one of two. */
    private static final class Join<T> extends Carried implements BinaryOperator<T> {
        private final BinaryOperator<T> task;

        Join(Span span, BinaryOperator<T> task) {
            super(span, task);
            this.task = task;
        }

        @Override
        public T apply(T a, T b) {
            Turn turn = enter();
            try {
                return task.apply(a, b);
            } finally {
                Hooks.leave(turn);
            }
        }
    }

    /** A function of an object. It is one of these, and is called as that. */
    @SuppressWarnings("unchecked")
    private static final class Each<A> extends Carried implements Predicate<A>, ToIntFunction<A>, ToLongFunction<A>, ToDoubleFunction<A> {
        private final Object task;

        Each(Span span, Object task) {
            super(span, task);
            this.task = task;
        }

        @Override
        public boolean test(A a) {
            Turn turn = enter();
            try {
                return ((Predicate<A>) task).test(a);
            } finally {
                Hooks.leave(turn);
            }
        }

        @Override
        public int applyAsInt(A a) {
            Turn turn = enter();
            try {
                return ((ToIntFunction<A>) task).applyAsInt(a);
            } finally {
                Hooks.leave(turn);
            }
        }

        @Override
        public long applyAsLong(A a) {
            Turn turn = enter();
            try {
                return ((ToLongFunction<A>) task).applyAsLong(a);
            } finally {
                Hooks.leave(turn);
            }
        }

        @Override
        public double applyAsDouble(A a) {
            Turn turn = enter();
            try {
                return ((ToDoubleFunction<A>) task).applyAsDouble(a);
            } finally {
                Hooks.leave(turn);
            }
        }
    }

    /** A function of a number. It is one of these, and is called as that. */
    @SuppressWarnings("unchecked")
    private static final class EachInt<T> extends Carried
        implements IntUnaryOperator, IntBinaryOperator, IntFunction<T>, IntPredicate, IntConsumer, IntToLongFunction, IntToDoubleFunction {
        private final Object task;

        EachInt(Span span, Object task) {
            super(span, task);
            this.task = task;
        }

        @Override
        public int applyAsInt(int a) {
            Turn turn = enter();
            try {
                return ((IntUnaryOperator) task).applyAsInt(a);
            } finally {
                Hooks.leave(turn);
            }
        }

        @Override
        public int applyAsInt(int a, int b) {
            Turn turn = enter();
            try {
                return ((IntBinaryOperator) task).applyAsInt(a, b);
            } finally {
                Hooks.leave(turn);
            }
        }

        @Override
        public T apply(int a) {
            Turn turn = enter();
            try {
                return ((IntFunction<T>) task).apply(a);
            } finally {
                Hooks.leave(turn);
            }
        }

        @Override
        public boolean test(int a) {
            Turn turn = enter();
            try {
                return ((IntPredicate) task).test(a);
            } finally {
                Hooks.leave(turn);
            }
        }

        @Override
        public void accept(int a) {
            Turn turn = enter();
            try {
                ((IntConsumer) task).accept(a);
            } finally {
                Hooks.leave(turn);
            }
        }

        @Override
        public long applyAsLong(int a) {
            Turn turn = enter();
            try {
                return ((IntToLongFunction) task).applyAsLong(a);
            } finally {
                Hooks.leave(turn);
            }
        }

        @Override
        public double applyAsDouble(int a) {
            Turn turn = enter();
            try {
                return ((IntToDoubleFunction) task).applyAsDouble(a);
            } finally {
                Hooks.leave(turn);
            }
        }
    }

    /** A function of a number. It is one of these, and is called as that. */
    @SuppressWarnings("unchecked")
    private static final class EachLong<T> extends Carried
        implements LongUnaryOperator, LongBinaryOperator, LongFunction<T>, LongPredicate, LongConsumer, LongToIntFunction, LongToDoubleFunction {
        private final Object task;

        EachLong(Span span, Object task) {
            super(span, task);
            this.task = task;
        }

        @Override
        public long applyAsLong(long a) {
            Turn turn = enter();
            try {
                return ((LongUnaryOperator) task).applyAsLong(a);
            } finally {
                Hooks.leave(turn);
            }
        }

        @Override
        public long applyAsLong(long a, long b) {
            Turn turn = enter();
            try {
                return ((LongBinaryOperator) task).applyAsLong(a, b);
            } finally {
                Hooks.leave(turn);
            }
        }

        @Override
        public T apply(long a) {
            Turn turn = enter();
            try {
                return ((LongFunction<T>) task).apply(a);
            } finally {
                Hooks.leave(turn);
            }
        }

        @Override
        public boolean test(long a) {
            Turn turn = enter();
            try {
                return ((LongPredicate) task).test(a);
            } finally {
                Hooks.leave(turn);
            }
        }

        @Override
        public void accept(long a) {
            Turn turn = enter();
            try {
                ((LongConsumer) task).accept(a);
            } finally {
                Hooks.leave(turn);
            }
        }

        @Override
        public int applyAsInt(long a) {
            Turn turn = enter();
            try {
                return ((LongToIntFunction) task).applyAsInt(a);
            } finally {
                Hooks.leave(turn);
            }
        }

        @Override
        public double applyAsDouble(long a) {
            Turn turn = enter();
            try {
                return ((LongToDoubleFunction) task).applyAsDouble(a);
            } finally {
                Hooks.leave(turn);
            }
        }
    }

    /** A function of a number. It is one of these, and is called as that. */
    @SuppressWarnings("unchecked")
    private static final class EachDouble<T> extends Carried
        implements DoubleUnaryOperator, DoubleBinaryOperator, DoubleFunction<T>, DoublePredicate, DoubleConsumer, DoubleToIntFunction, DoubleToLongFunction {
        private final Object task;

        EachDouble(Span span, Object task) {
            super(span, task);
            this.task = task;
        }

        @Override
        public double applyAsDouble(double a) {
            Turn turn = enter();
            try {
                return ((DoubleUnaryOperator) task).applyAsDouble(a);
            } finally {
                Hooks.leave(turn);
            }
        }

        @Override
        public double applyAsDouble(double a, double b) {
            Turn turn = enter();
            try {
                return ((DoubleBinaryOperator) task).applyAsDouble(a, b);
            } finally {
                Hooks.leave(turn);
            }
        }

        @Override
        public T apply(double a) {
            Turn turn = enter();
            try {
                return ((DoubleFunction<T>) task).apply(a);
            } finally {
                Hooks.leave(turn);
            }
        }

        @Override
        public boolean test(double a) {
            Turn turn = enter();
            try {
                return ((DoublePredicate) task).test(a);
            } finally {
                Hooks.leave(turn);
            }
        }

        @Override
        public void accept(double a) {
            Turn turn = enter();
            try {
                ((DoubleConsumer) task).accept(a);
            } finally {
                Hooks.leave(turn);
            }
        }

        @Override
        public int applyAsInt(double a) {
            Turn turn = enter();
            try {
                return ((DoubleToIntFunction) task).applyAsInt(a);
            } finally {
                Hooks.leave(turn);
            }
        }

        @Override
        public long applyAsLong(double a) {
            Turn turn = enter();
            try {
                return ((DoubleToLongFunction) task).applyAsLong(a);
            } finally {
                Hooks.leave(turn);
            }
        }
    }
}
