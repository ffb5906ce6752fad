package app;

import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.function.Function;
import java.util.function.IntUnaryOperator;
import java.util.function.Supplier;

/** Tasks as lambdas, for which other objects may stand in. */
final class Tasks {
    private Tasks() {}

    static Callable<Integer> asking(String sql) {
        return () -> Requests.Handlers.DB.query(sql);
    }

    static Runnable running(String sql, CountDownLatch done) {
        return () -> {
            Requests.Handlers.DB.query(sql);
            if (done != null) {
                done.countDown();
            }
        };
    }

    static Supplier<Integer> giving(String sql) {
        return () -> Requests.Handlers.DB.query(sql);
    }

    static Function<Integer, Integer> going(String sql) {
        return before -> Requests.Handlers.DB.query(sql);
    }

    /** Elements wait for each other, so that each is another thread's. */
    static IntUnaryOperator mapping(String sql, CyclicBarrier both) {
        return n -> {
            await(both);
            return Requests.Handlers.DB.query(sql);
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
