package app;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/** Short methods: `left...` does nothing itself that takes long, and what it calls is recorded or quick. */
public class Glue {
    interface Bare {
        int ask(int n);
    }

    interface Served {
        int serve(int n, int m);
    }

    @Retention(RetentionPolicy.RUNTIME)
    @interface Told {}

    static class Server implements Served {
        @Override
        public int serve(int n, int m) {
            int sum = 0;
            for (int i = n; i < m; i++) {
                sum += i;
            }
            return sum;
        }
    }

    int leftCall(Served served) {
        return served.serve(1, 2);
    }

    int leftText(String text) {
        return text.length() + text.hashCode();
    }

    int leftChain(Served served) {
        return leftCall(served) + leftText("a");
    }

    int staysUnknown(Bare bare) {
        return bare.ask(1);
    }

    void staysWaiting() throws InterruptedException {
        Thread.sleep(1);
    }

    synchronized int staysLocked(Served served) {
        return served.serve(1, 2);
    }

    int staysLocking(Served served) {
        synchronized (this) {
            return served.serve(1, 2);
        }
    }

    int staysLoop(int n) {
        while (n > 3) {
            n -= 3;
        }
        return n;
    }

    int[] staysArray(int n) {
        return new int[n];
    }

    @Told
    int staysTold(Served served) {
        return served.serve(1, 2);
    }
}
