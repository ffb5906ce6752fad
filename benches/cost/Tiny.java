import java.lang.management.ManagementFactory;

/** Very many calls of methods of a few nanoseconds; prints the thread's CPU time, in milliseconds. */
public class Tiny {
    private static long mix(long h) {
        return (h ^ h >>> 33) * 0xff51afd7ed558ccdL;
    }

    private static int compare(int a, int b) {
        return a < b ? -1 : a == b ? 0 : 1;
    }

    private static int find(int[] sorted, int key) {
        int low = 0;
        int high = sorted.length;
        while (low < high) {
            int middle = low + high >>> 1;
            int order = compare(sorted[middle], key);
            if (order == 0) {
                return middle;
            }
            low = order < 0 ? middle + 1 : low;
            high = order < 0 ? high : middle;
        }
        return -1;
    }

    public static void main(String[] args) {
        int[] sorted = new int[10_000];
        for (int i = 0; i < sorted.length; i++) {
            sorted[i] = 3 * i;
        }
        long sum = 0;
        for (int i = 0, rounds = Integer.parseInt(args[0]) * 10_000; i < rounds; i++) {
            sum += find(sorted, (int) (mix(i) & 32_767));
        }
        System.out.println(ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() / 1_000_000 + " " + sum);
    }
}
