package app;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.Statement;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisPooled;

/** PostgreSQL, by its driver and through a pool, and Redis by Jedis. */
public final class Stores {
    static void driver(String url) throws Exception {
        try (Connection connection = DriverManager.getConnection(url); Statement statement = connection.createStatement()) {
            statement.execute("CREATE TEMPORARY TABLE orders (id INT)");
            System.out.println(statement.executeUpdate("INSERT INTO orders VALUES (7)"));
        }
    }

    static void pool(String url) throws Exception {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(url);
        config.setMaximumPoolSize(1);
        try (HikariDataSource source = new HikariDataSource(config)) {
            for (int i = 0; i < 2; i++) {
                try (Connection connection = source.getConnection(); PreparedStatement statement = connection.prepareStatement("SELECT ? + 1")) {
                    statement.setInt(1, i);
                    try (ResultSet found = statement.executeQuery()) {
                        found.next();
                        System.out.println(found.getInt(1));
                    }
                }
            }
        }
    }

    static void redis(int port) {
        try (Jedis jedis = new Jedis("127.0.0.1", port)) {
            System.out.println(jedis.set("name", "geheim"));
            System.out.println(jedis.get("name").length());
        }
        try (JedisPooled jedis = new JedisPooled("127.0.0.1", port)) {
            System.out.println(jedis.mget("name", "none").size());
            System.out.println(jedis.del("name"));
            try {
                jedis.incr("name");
                jedis.lpush("name", "geheim");
            } catch (RuntimeException wrong) {
                System.out.println(wrong.getClass().getSimpleName());
            }
            jedis.del("name");
        }
    }

    public static void main(String[] args) throws Exception {
        String url = "jdbc:postgresql://127.0.0.1:" + args[0] + "/postgres?user=weave&password=geheim";
        driver(url);
        pool(url);
        redis(Integer.parseInt(args[1]));
    }
}
