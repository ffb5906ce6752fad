package desk;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.List;
import java.util.Map;
import picocli.CommandLine;
import picocli.CommandLine.Option;

/** Reads a JSON text, changes it, writes it. */
public final class Main implements Runnable {
    @Option(names = "--times", description = "how often")
    int times = 1;

    public static void main(String[] args) {
        System.exit(new CommandLine(new Main()).execute(args));
    }

    @Override
    public void run() {
        ObjectMapper mapper = new ObjectMapper();
        try {
            Object tree = mapper.readValue("{\"a\":[1,2.5,true,null],\"b\":{\"c\":\"text\"}}", Object.class);
            for (int i = 0; i < times; i++) {
                tree = Map.of("round", i, "tree", tree);
            }
            System.out.println(mapper.writeValueAsString(List.of(tree)).length());
            System.out.println(mapper.readTree("[" + mapper.writeValueAsString(times) + "]"));
            System.out.println(Main.class.getModule());
            mapper.readValue("{", Object.class);
        } catch (java.io.IOException e) {
            System.out.println(e.getClass().getName());
        }
    }
}
