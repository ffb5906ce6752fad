package app;

import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.function.Function;
import java.util.function.IntUnaryOperator;
import java.util.function.Supplier;

/** The same tasks as objects of classes of their own, which stay what they are. */
final class Tasks {
    private Tasks() {}

    static Callable<Integer> asking(final String sql) {
        return new Callable<Integer>() {
            @Override
            public Integer call() {
                return Requests.Handlers.DB.query(sql);
            }
        };
    }

    static Runnable running(final String sql, final CountDownLatch done) {
        return new Runnable() {
            @Override
            public void run() {
                Requests.Handlers.DB.query(sql);
                if (done != null) {
                    done.countDown();
                }
            }
        };
    }

    static Supplier<Integer> giving(final String sql) {
        return new Supplier<Integer>() {
            @Override
            public Integer get() {
                return Requests.Handlers.DB.query(sql);
            }
        };
    }

    static Function<Integer, Integer> going(final String sql) {
        return new Function<Integer, Integer>() {
            @Override
            public Integer apply(Integer before) {
                return Requests.Handlers.DB.query(sql);
            }
        };
    }

    /** Elements wait for each other, so that each is another thread's. */
    static IntUnaryOperator mapping(final String sql, final CyclicBarrier both) {
        return new IntUnaryOperator() {
            @Override
            public int applyAsInt(int n) {
                await(both);
                return Requests.Handlers.DB.query(sql);
            }
        };
    }

    private static void await(CyclicBarrier both) {
        try {
            both.await();
        } catch (InterruptedException | BrokenBarrierException e) {
            throw new IllegalStateException(e);
        }
    }
}
