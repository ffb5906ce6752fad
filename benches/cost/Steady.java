import java.lang.management.ManagementFactory;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.Statement;

/** Asks a database of this process's own, so many rounds; prints the thread's CPU time in the second half, in milliseconds. */
public class Steady {
    public static void main(String[] args) throws Exception {
        int rounds = Integer.parseInt(args[0]);
        var threads = ManagementFactory.getThreadMXBean();
        long half = 0;
        long rows = 0;
        try (Connection database = DriverManager.getConnection("jdbc:h2:mem:steady"); Statement statement = database.createStatement()) {
            statement.execute("create table item(id int primary key, kind int, price double)");
            for (int i = 0; i < 500; i++) {
                statement.execute("insert into item values(" + i + ", " + i % 50 + ", " + i * 1.5 + ")");
            }
            for (int round = 0; round < rounds; round++) {
                if (round == rounds / 2) {
                    half = threads.getCurrentThreadCpuTime();
                }
                String join = "select count(*) from item a, item b where a.price < b.price and a.id < 60";
                try (ResultSet result = statement.executeQuery(join)) {
                    result.next();
                    rows += result.getInt(1);
                }
                for (int kind = 0; kind < 50; kind++) {
                    try (PreparedStatement query = database.prepareStatement("select id, price from item where kind = ?")) {
                        query.setInt(1, kind);
                        try (ResultSet result = query.executeQuery()) {
                            while (result.next()) {
                                rows += (long) result.getDouble(2);
                            }
                        }
                    }
                }
            }
        }
        System.out.println((threads.getCurrentThreadCpuTime() - half) / 1_000_000 + " " + rows);
    }
}
