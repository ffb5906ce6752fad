import java.util.function.IntUnaryOperator;

/** Many tiny calls beside some that tell something: what `weave tune` is to tell apart. No package: `shop.Tuned` has the same methods. */
public class Tuned {
    int sum;

    static int mix(int x) {
        return (x ^ x >>> 3) * 31;
    }

    static int mix(long x) {
        return work((int) x);
    }

    static int mix(String[] words, int... more) {
        return words.length * 3 + more.length;
    }

    static int work(int x) {
        int y = x;
        for (int i = 0; i < 20_000; i++) {
            y = y * 31 + i ^ y >>> 7;
        }
        return y;
    }

    static int risky(int x) {
        if (x % 1000 == 7) {
            throw new IllegalStateException("no");
        }
        return x + 1;
    }

    static final class Cell {
        private int value;

        Cell(int value) {
            this.value = value;
            this.value = mix(value);
        }

        int twice() {
            return value * 2 + (value >>> 1);
        }
    }

    static int fold(int n, IntUnaryOperator operator) {
        int sum = 0;
        for (int i = 0; i < n; i++) {
            sum = operator.applyAsInt(sum + i);
        }
        return sum;
    }

    public static void main(String[] args) {
        int sum = 0;
        String[] none = {};
        for (int i = 0; i < 30_000; i++) {
            sum += mix(i) + mix(none, i, sum) + new Cell(i).twice();
            try {
                sum += risky(i);
            } catch (IllegalStateException e) {
                sum--;
            }
        }
        for (long i = 0; i < 5; i++) {
            sum += mix(i) + shop.Tuned.mix((int) i);
        }
        sum += fold(30_000, x -> (x + 1) * 3);
        System.out.println(sum);
    }
}
