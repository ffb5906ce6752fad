package shop;

import java.util.ArrayList;
import java.util.List;

/** What came in; shared by threads. */
final class Ledger {
    private final List<String> closed = new ArrayList<>();
    private long sum;

    synchronized void add(int cents) {
        sum += cents;
    }

    void close(String title) {
        synchronized (closed) {
            closed.add(title);
        }
    }

    /** The sum and how many orders were closed. */
    synchronized String total() {
        return sum + " cents of " + closed.size() + " orders";
    }
}
