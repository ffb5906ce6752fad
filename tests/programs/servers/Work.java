package servers;

import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** What both servers do for a request: something nested, that blocks, and sometimes throws. */
final class Work {
    private static final CountDownLatch ALL = new CountDownLatch(1000);

    private Work() {}

    /** The answer to {@code n}: none before there were 1,000 questions, and none at once. */
    static String late(int n) throws InterruptedException {
        ALL.countDown();
        ALL.await();
        Thread.sleep(100 + n % 50);
        return answer(n);
    }

    /** The answer to {@code n}. */
    static String answer(int n) {
        try {
            return n + ": " + row(n) + " " + sum(n % 12);
        } catch (IllegalArgumentException refused) {
            return n + ": " + refused.getMessage();
        }
    }

    private static String row(int n) {
        if (n % 10 == 7) {
            throw new IllegalArgumentException("no row of " + n);
        }
        int[] numbers = IntStream.range(0, 8).map(i -> (n * 31 + i * 17) % 100).toArray();
        Arrays.sort(numbers);
        return Arrays.stream(numbers).mapToObj(Integer::toString).collect(Collectors.joining(","));
    }

    private static long sum(int depth) {
        return depth == 0 ? 1 : depth + sum(depth - 1);
    }
}
