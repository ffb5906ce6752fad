import java.util.ArrayList;
import java.util.List;
import java.util.function.IntUnaryOperator;

/** Methods of all shapes that javac makes, for own hooks. */
public class Shapes {
    final int number;

    Shapes(int number) {
        this(number, "of " + number);
        if (number == 2) {
            number = -1;
        }
    }

    Shapes(int number, String text) {
        super();
        this.number = number + text.length();
        number++;
        text = null;
    }

    class Inner {
        final long wide;

        Inner(long wide) {
            this.wide = wide + number;
        }

        double half() {
            return wide / 2.0;
        }
    }

    enum Kind {
        ONE {
            @Override
            int value() {
                return 1;
            }
        },
        TWO {
            @Override
            int value() {
                return 2;
            }
        };

        abstract int value();
    }

    interface Sized {
        int size();

        default int twice() {
            return 2 * size();
        }

        static Sized of(int n) {
            return () -> n;
        }
    }

    static long wide(long a, double b, long c, double d, int e) {
        a += e;
        for (int i = 0; i < e; i++) {
            c = c * 3 + i;
            d = d / 2;
        }
        return a + c + (long) (b + d);
    }

    static boolean primitives(boolean a, byte b, char c, short d, float e, int[] f, String[][] g) {
        a = !a;
        b++;
        c++;
        d--;
        e *= 2;
        f = new int[] {b, c, d};
        g = null;
        return a && f.length > 2 && e > 0;
    }

    Object reference(Object o, List<String> list, CharSequence text) {
        if (o == null) {
            o = list;
            list = new ArrayList<>();
        }
        text = text + "!";
        synchronized (o) {
            if (list.isEmpty()) {
                return text;
            }
            list = null;
        }
        return o;
    }

    static int returns(int n) {
        try {
            switch (n) {
                case 0:
                    return 10;
                case 1:
                    throw new IllegalStateException("one");
                case 2:
                    return Integer.parseInt("two");
                default:
            }
            while (true) {
                n--;
                if (n < 0) {
                    return n;
                }
            }
        } catch (IllegalStateException e) {
            n = 100;
            return n;
        } catch (NumberFormatException e) {
            return n + 1000;
        } finally {
            n = -1;
        }
    }

    static int loop(int n) {
        do {
            n--;
        } while (n > 0);
        return n;
    }

    static int lambdas(int n) {
        IntUnaryOperator plus = x -> {
            x += n;
            return x;
        };
        return plus.applyAsInt(n) + Sized.of(n).twice();
    }

    static int many(int a, long b, int c, long d, int e, long f, int g, long h, int i, long j, int k, long l, int m, long n) {
        int[] all = new int[200];
        a = (int) (b + d + f + h + j + l + n);
        return a + c + e + g + i + k + m + all.length;
    }

    public static int run(int n) {
        Shapes shapes = new Shapes(n);
        Inner inner = shapes.new Inner(n);
        String all = wide(n, 2.5, 1L << 40, 3, n) + " " + primitives(n > 1, (byte) n, 'c', (short) n, n, null, null)
            + shapes.reference(n > 1 ? "o" : null, null == null ? List.of("x") : null, "text") + returns(n) + loop(n)
            + lambdas(n) + inner.half() + Kind.values()[n & 1].value() + many(n, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13);
        return all.hashCode();
    }
}
