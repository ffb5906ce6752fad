package shop;

import java.util.List;
import java.util.function.IntUnaryOperator;
import java.util.stream.IntStream;

/** A day in a small shop: threads, exceptions, recursion, lambdas, a switch on sealed types, constructors. */
public final class Main {
    private Main() {}

    public static void main(String[] args) throws InterruptedException {
        Ledger ledger = new Ledger();
        payAll(ledger, IntStream.rangeClosed(1, 6).mapToObj(Order::new).toList());
        payAll(ledger, List.of(new Order(7, 500, new Payment.Card("black")), new Order(8, 80, new Payment.Voucher("X1"))));
        try {
            new Order(9, -1);
        } catch (IllegalStateException e) {
            System.out.println("refused: " + e.getMessage());
        }
        System.out.println("ways to give 100 cents of change: " + ways(100, 4));
        IntUnaryOperator discount = cents -> cents - discounted(cents);
        System.out.println("a third order costs " + discount.applyAsInt(300));
        counters(ledger);
        System.out.println("in all: " + ledger.total());
    }

    private static void payAll(Ledger ledger, List<Order> orders) {
        for (Order order : orders) {
            try {
                System.out.println(order.title + ": fee " + order.pay(ledger));
            } catch (IllegalArgumentException e) {
                System.out.println(order.title + ": " + e.getMessage());
            }
        }
    }

    private static final int[] COINS = {5, 10, 20, 50};

    /** Recursion: in how many ways the first coins make a sum. */
    static int ways(int cents, int coins) {
        if (cents == 0) {
            return 1;
        }
        if (cents < 0 || coins == 0) {
            return 0;
        }
        return ways(cents, coins - 1) + ways(cents - COINS[coins - 1], coins);
    }

    private static int discounted(int cents) {
        return cents / 10;
    }

    /** Three threads pay ten orders each; a fourth ends by an exception that was rethrown on its way. */
    private static void counters(Ledger ledger) throws InterruptedException {
        Thread[] threads = new Thread[4];
        for (int i = 0; i < threads.length; i++) {
            int number = i;
            threads[i] = new Thread(() -> work(ledger, number), "counter-" + i);
            threads[i].setUncaughtExceptionHandler(
                (thread, e) -> System.out.println(thread.getName() + " ended: " + e.getMessage() + ", " + e.getCause().getMessage()));
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    private static void work(Ledger ledger, int number) {
        try {
            if (number == 3) {
                new Order(30, 10, new Payment.Voucher("X3")).pay(ledger);
            }
            for (int i = 0; i < 10; i++) {
                new Order(10 * number + i, 1000).pay(ledger);
            }
        } catch (IllegalArgumentException e) {
            throw new IllegalStateException("counter " + number + " is closed", e);
        }
    }
}
