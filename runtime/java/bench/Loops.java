import weave.runtime.Hooks;

/** The loops that both benches measure. */
final class Loops {
    static long clocks(int n) {
        long sum = 0;
        for (int i = 0; i < n; i++) {
            sum += System.nanoTime();
            sum ^= i;
            sum += System.nanoTime();
        }
        return sum;
    }

    static long pairs(int n) {
        long sum = 0;
        for (int i = 0; i < n; i++) {
            Hooks.enter(4711);
            sum ^= i * 31;
            sum += i;
            Hooks.exit(4711);
        }
        return sum;
    }
}
