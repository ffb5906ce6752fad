package bench;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Writes objects as JSON and reads them again. Prints how many classes were loaded when the first had come back, and the CPU time of
 * each slice in nanoseconds.
 */
public final class Bench {
    public static final class Line {
        public String product;
        public int count;
        public double price;
        public List<String> tags = new ArrayList<>();
    }

    public static final class Order {
        public long id;
        public String customer;
        public boolean paid;
        public List<Line> lines = new ArrayList<>();
        public Map<String, Integer> totals = new LinkedHashMap<>();
    }

    private static Order order(int n) {
        Order order = new Order();
        order.id = n;
        order.customer = "customer " + n;
        order.paid = n % 2 == 0;
        for (int i = 0; i < 20; i++) {
            Line line = new Line();
            line.product = "product " + i;
            line.count = i;
            line.price = i * 1.25;
            line.tags.add("new");
            line.tags.add("green");
            order.lines.add(line);
            order.totals.put(line.product, i * n);
        }
        return order;
    }

    private static int once(ObjectMapper mapper, int n) throws Exception {
        String text = mapper.writeValueAsString(order(n));
        Order back = mapper.readValue(text, Order.class);
        JsonNode tree = mapper.readTree(text);
        String again = mapper.writeValueAsString(tree);
        if (!mapper.writeValueAsString(back).equals(text) || !again.equals(text)) {
            throw new AssertionError(text);
        }
        return text.length();
    }

    /** Of the thread that works: the whole process's is counted in steps of ten milliseconds, and has the compilers' time. */
    private static long cpu() {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }

    public static void main(String[] args) throws Exception {
        int slices = Integer.parseInt(args[0]);
        ObjectMapper mapper = new ObjectMapper();
        long sum = once(mapper, 0);
        System.out.println("classes " + ManagementFactory.getClassLoadingMXBean().getTotalLoadedClassCount());
        for (int slice = 0; slice < slices; slice++) {
            long begun = cpu();
            for (int n = 0; n < 500; n++) {
                sum += once(mapper, n);
            }
            System.out.println("slice " + (cpu() - begun));
        }
        System.out.println("sum " + sum);
    }
}
