using System.Data.Common;
using Microsoft.Data.SqlClient;
using Microsoft.Data.Sqlite;
using MySql.Data.MySqlClient;
using Npgsql;
using StackExchange.Redis;

/// <summary>Drivers of databases, asked one after the other. Redis and PostgreSQL are there; the others' servers are not.</summary>
public static class Program
{
    private static IDatabase redis;
    private static DbConnection postgres;
    private static DbConnection sqlite;

    public static void Main(string[] args)
    {
        using var multiplexer = ConnectionMultiplexer.Connect("127.0.0.1:" + args[0]);
        redis = multiplexer.GetDatabase(1);
        postgres = new NpgsqlConnection("Host=127.0.0.1;Port=" + args[1] + ";Username=weave;Database=postgres");
        postgres.Open();
        sqlite = new SqliteConnection("Data Source=:memory:");
        sqlite.Open();
        foreach (string what in new[] { "redis", "redis later", "redis batch", "redis fails", "postgres", "sqlite", "sql server", "sql server procedure", "mysql" })
        {
            Request(what).Wait();
        }
        Console.WriteLine("done");
    }

    public static async Task Request(string what)
    {
        switch (what)
        {
            case "redis":
                redis.StringSet("k1", "geheim");
                Console.WriteLine(redis.StringGet("k1"));
                break;
            case "redis later":
                await redis.StringSetAsync("k2", "geheim");
                await Task.WhenAll(redis.StringIncrementAsync("n1"), redis.KeyDeleteAsync("n2"));
                break;
            case "redis batch":
                IBatch batch = redis.CreateBatch();
                Task<bool> set = batch.StringSetAsync("b1", 1);
                batch.Execute();
                Console.WriteLine(await set);
                ITransaction transaction = redis.CreateTransaction();
                _ = transaction.StringSetAsync("t1", 1);
                Console.WriteLine(await transaction.ExecuteAsync());
                break;
            case "redis fails":
                await Failing(() => Task.FromResult(redis.ListLeftPush("k1", "geheim")));
                await Failing(() => redis.ListLeftPushAsync("k1", "geheim"));
                break;
            case "postgres":
                await Ask(postgres, "select 'geheim' where 1 = 1");
                await Failing(() => Ask(postgres, "select * from nothing"));
                break;
            case "sqlite":
                Run(sqlite, "create table orders (id int, name text)");
                Run(sqlite, "insert into orders values (1, 'geheim')");
                await Ask(sqlite, "select name from orders where id = 1");
                await Failing(() => Ask(sqlite, "select * from nothing"));
                break;
            case "sql server":
                var microsoft = new SqlConnection("Server=127.0.0.1,1;Database=shop;User Id=sa;Password=geheim;Encrypt=false");
                await Failing(() => Ask(microsoft, "select * from orders where name = 'geheim'"));
                await Failing(() => { Run(microsoft, "delete from orders"); return Task.FromResult(0); });
                break;
            case "sql server procedure":
                using (var procedure = new SqlCommand("dbo.GetOrders", new SqlConnection("Server=tcp:localhost,1;Database=shop")))
                {
                    procedure.CommandType = System.Data.CommandType.StoredProcedure;
                    await Failing(() => procedure.ExecuteReaderAsync());
                }
                break;
            case "mysql":
                var mysql = new MySqlConnection("Server=127.0.0.1;Port=1;Database=shop;Uid=app;Pwd=geheim");
                await Failing(() => { mysql.Open(); return Task.FromResult(0); });
                await Failing(() => Ask(mysql, "select * from orders where name = 'geheim'"));
                break;
        }
    }

    private static async Task<object> Ask(DbConnection connection, string sql)
    {
        using DbCommand command = connection.CreateCommand();
        command.CommandText = sql;
        return await command.ExecuteScalarAsync();
    }

    private static void Run(DbConnection connection, string sql)
    {
        using DbCommand command = connection.CreateCommand();
        command.CommandText = sql;
        command.ExecuteNonQuery();
    }

    private static async Task Failing<T>(Func<Task<T>> work)
    {
        try
        {
            await work();
            Console.WriteLine("it did not fail");
        }
        catch (Exception e)
        {
            Console.WriteLine(e.GetType().Name);
        }
    }
}
