import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** Statements of all sorts, by way of a pool. */
public final class Shop {
    public static void main(String[] args) throws Exception {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(args[0]);
        config.setUsername("weave");
        config.setPassword("");
        config.setMaximumPoolSize(2);
        try (HikariDataSource pool = new HikariDataSource(config); Connection c = pool.getConnection()) {
            try (Statement s = c.createStatement()) {
                s.execute("drop table if exists orders");
                s.execute("create table orders (id int primary key, state varchar(20))");
            }
            try (PreparedStatement p = c.prepareStatement("insert into orders values (?, ?)")) {
                for (int i = 0; i < 100; i++) {
                    p.setInt(1, i);
                    p.setString(2, i % 3 == 0 ? "open" : "done");
                    p.executeUpdate();
                }
            }
            try (PreparedStatement p = c.prepareStatement("update orders set state = 'late' where id = ?")) {
                for (int i = 0; i < 10; i++) {
                    p.setInt(1, i);
                    p.addBatch();
                }
                p.executeBatch();
            }
            int total = 0;
            for (int i = 0; i < 10; i++) {
                try (PreparedStatement p = c.prepareStatement("select count(*) from orders where state = ?")) {
                    p.setString(1, "open");
                    try (ResultSet r = p.executeQuery()) {
                        r.next();
                        total += r.getInt(1);
                    }
                }
            }
            try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("select max(id) from orders")) {
                r.next();
                total += r.getInt(1);
            }
            try (Statement s = c.createStatement()) {
                s.executeQuery("select nonsense");
            } catch (SQLException e) {
                System.out.println("failed");
            }
            System.out.println("total " + total);
        }
    }
}
