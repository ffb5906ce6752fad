using System.Net.Sockets;
using System.Text;

public static class Worker
{
    public static int Work(int n)
    {
        int sum = 0;
        for (int i = 0; i < n; i++)
        {
            sum += i * n;
        }
        return sum;
    }
}

/// <summary>A server that asks itself, with nothing in it that knows of traces.</summary>
public static class Program
{
    private static async Task<string> Order(HttpClient client, string url)
    {
        await Task.Yield();
        Worker.Work(3);
        return await client.GetStringAsync(url);
    }

    public static void Main()
    {
        var builder = WebApplication.CreateBuilder();
        builder.Logging.ClearProviders();
        var app = builder.Build();
        app.Urls.Add("http://127.0.0.1:0");
        var client = new HttpClient();
        string Address() => app.Urls.First();
        app.MapGet("/price/{id:int}", (int id) => Worker.Work(id).ToString());
        app.MapGet("/orders/{id:int}", async (int id) => await Order(client, Address() + "/price/" + id + "?token=geheim"));
        app.MapGet("/boom", new Func<string>(() => throw new InvalidOperationException("on purpose")));
        app.Start();
        string trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333";
        string header = Environment.GetEnvironmentVariable("ASKED_WITH");
        foreach (string path in header != null ? new[] { "/orders/7 " } : new[] { "/orders/7 1-01", "/boom 2-01", "/nothing 3-01", "/price/3 4-00", "/price/4 x-01" })
        {
            using var socket = new TcpClient("127.0.0.1", new Uri(Address()).Port);
            using NetworkStream stream = socket.GetStream();
            string[] both = path.Split(' ');
            stream.Write(Encoding.ASCII.GetBytes($"GET {both[0]} HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n{header ?? "traceparent: " + trace + both[1]}\r\n\r\n"));
            Console.WriteLine(both[0] + " " + new StreamReader(stream).ReadToEnd().Split('\n')[0].Trim());
        }
        app.StopAsync().Wait();
    }
}
