package weave.runtime;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.TimerTask;
import java.util.concurrent.Callable;
import java.util.concurrent.Delayed;
import java.util.concurrent.ForkJoinTask;
import java.util.concurrent.Future;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * Tasks that run later, or on another thread, in the context in which they were handed over. A lambda is put into another object. An object
 * of a class that has a name stays what it is, since who hands it over may compare it later: it is noted, and its own method, where it is woven,
 * takes the context ({@link #take}).
 */
@SuppressWarnings("overloads") // woven code names the one that it means
public final class Handover {
    private Handover() {}

    /** Whether another object may stand in for one of this class. */
    private static boolean isLambda(Object task) {
        return task.getClass().isSynthetic() && !(task instanceof Future || task instanceof Comparable || task instanceof Delayed
            || task instanceof Comparator);
    }

    /** The context that goes with a task; null where the task stays as it is. */
    private static Span of(Object task) {
        if (task == null || task instanceof Carried) {
            return null;
        }
        Span span = Hooks.context();
        if (span == null) {
            return null;
        }
        try {
            if (isLambda(task)) {
                return span;
            }
            Marks.put(task, span);
        } catch (OutOfMemoryError full) {
            // then it goes without
        } catch (StackOverflowError deep) {
            // the same
        }
        return null;
    }

    public static Runnable of(Runnable task) {
        Span span = of((Object) task);
        return span == null ? task : new Carried.Run(span, task);
    }

    public static <T> Callable<T> of(Callable<T> task) {
        Span span = of((Object) task);
        return span == null ? task : new Carried.Call<T>(span, task);
    }

    public static <T> Supplier<T> of(Supplier<T> task) {
        Span span = of((Object) task);
        return span == null ? task : new Carried.Get<T>(span, task);
    }

    public static <A, T> Function<A, T> of(Function<A, T> task) {
        Span span = of((Object) task);
        return span == null ? task : new Carried.Apply<A, T>(span, task);
    }

    public static <A, B, T> BiFunction<A, B, T> of(BiFunction<A, B, T> task) {
        Span span = of((Object) task);
        return span == null ? task : new Carried.ApplyBoth<A, B, T>(span, task);
    }

    public static <A> Consumer<A> of(Consumer<A> task) {
        Span span = of((Object) task);
        return span == null ? task : new Carried.Accept<A>(span, task);
    }

    public static <A, B> BiConsumer<A, B> of(BiConsumer<A, B> task) {
        Span span = of((Object) task);
        return span == null ? task : new Carried.AcceptBoth<A, B>(span, task);
    }

    public static TimerTask of(TimerTask task) {
        of((Object) task);
        return task;
    }

    public static <T> ForkJoinTask<T> of(ForkJoinTask<T> task) {
        of((Object) task);
        return task;
    }

    /** Tasks for {@code invokeAll}: the same collection where none of them stays behind. */
    @SuppressWarnings({"unchecked", "rawtypes"}) // each element is what it was, or stands in for it
    public static <C> Collection<C> of(Collection<C> tasks) {
        if (tasks == null || Hooks.context() == null) {
            return tasks;
        }
        try {
            ArrayList all = new ArrayList(tasks.size());
            boolean same = true;
            for (Object task : tasks) {
                Object next = task instanceof Callable ? of((Callable) task) : task instanceof Runnable ? of((Runnable) task) : task;
                same &= next == task;
                all.add(next);
            }
            return same ? tasks : all;
        } catch (RuntimeException unruly) {
            return tasks; // the program's own collection: it will fail for the callee as well
        }
    }

    /** The method of a task begins: in the context that was noted for it. What it gives is for {@link #done}. */
    public static Object take(Object task) {
        try {
            Span span = Marks.take(task);
            return span == null ? null : Hooks.enter(span);
        } catch (OutOfMemoryError full) {
            return null;
        } catch (StackOverflowError deep) {
            return null;
        }
    }

    /** That method ends. */
    public static void done(Object turn) {
        if (turn instanceof Turn) {
            Hooks.leave((Turn) turn);
        }
    }

    /** A method begins that goes on in the span which the object {@code keep} keeps. What it gives is for {@link #suspend}. */
    public static int resume(Object keep) {
        return Hooks.resume(Kept.open(keep)) ? Spans.GOES_ON : Switched.NOTHING;
    }

    /** Such a method ends. */
    public static void suspend(int state, boolean goesOn) {
        if (state == Spans.GOES_ON) {
            Hooks.suspend(null, !goesOn, false);
        }
    }

    /** The same by an exception, which ends the span. */
    public static void failed(Throwable t, int state) {
        if (state == Spans.GOES_ON) {
            Hooks.suspend(t, true, true);
        }
    }
}
