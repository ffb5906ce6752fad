using System;
using System.Data.Common;
using System.Threading.Tasks;

/// <summary>Commands of all sorts, asynchronous ones included.</summary>
static class Shop
{
    static async Task Main(string[] args)
    {
        using DbConnection c = args[0] == "npgsql" ? new Npgsql.NpgsqlConnection(args[1]) : new Microsoft.Data.Sqlite.SqliteConnection(args[1]);
        await c.OpenAsync();

        async Task<object> Run(string how, string sql, params object[] values)
        {
            using var command = c.CreateCommand();
            command.CommandText = sql;
            for (int i = 0; i < values.Length; i++)
            {
                var p = command.CreateParameter();
                (p.ParameterName, p.Value) = ("p" + i, values[i]);
                command.Parameters.Add(p);
            }
            switch (how)
            {
                case "query": return command.ExecuteNonQuery();
                case "query async": return await command.ExecuteNonQueryAsync();
                case "scalar": return command.ExecuteScalar();
                case "scalar async": return await command.ExecuteScalarAsync();
                default:
                    int rows = 0;
                    using (var reader = await command.ExecuteReaderAsync())
                    {
                        while (await reader.ReadAsync())
                        {
                            rows++;
                        }
                    }
                    return rows;
            }
        }

        await Run("query", "drop table if exists orders");
        await Run("query async", "create table orders (id int primary key, state varchar(20))");
        for (int i = 0; i < 50; i++)
        {
            await Run(i % 2 == 0 ? "query" : "query async", "insert into orders values (@p0, @p1)", i, i % 3 == 0 ? "open" : "done");
        }
        Console.WriteLine(await Run("scalar", "select count(*) from orders where state = @p0", "open"));
        Console.WriteLine(await Run("scalar async", "select max(id) from orders"));
        Console.WriteLine(await Run("reader", "select * from orders"));
        try
        {
            await Run("scalar async", "select nonsense");
        }
        catch (DbException)
        {
            Console.WriteLine("failed");
        }
    }
}
