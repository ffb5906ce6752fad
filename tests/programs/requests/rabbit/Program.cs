using System.Text;
using RabbitMQ.Client;
using RabbitMQ.Client.Events;

/// <summary>One process sends orders through a broker, another gets them.</summary>
public static class Program
{
    private const int Orders = 3;

    public static async Task Main(string[] arguments)
    {
        var factory = new ConnectionFactory { HostName = "127.0.0.1", Port = int.Parse(arguments[1]) };
        await using IConnection connection = await factory.CreateConnectionAsync();
        await using IChannel channel = await connection.CreateChannelAsync();
        await channel.QueueDeclareAsync("orders", durable: false, exclusive: false, autoDelete: false);
        if (arguments[0] == "send")
        {
            for (int i = 1; i <= Orders; i++)
            {
                await Send(channel, "order " + i);
            }
            return;
        }
        var done = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var got = new List<string>();
        var consumer = new AsyncEventingBasicConsumer(channel);
        consumer.ReceivedAsync += async (_, one) =>
        {
            got.Add(await Handle(one));
            if (got.Count == Orders)
            {
                done.SetResult();
            }
        };
        await channel.BasicConsumeAsync("orders", autoAck: true, consumer);
        await done.Task;
        got.ForEach(Console.WriteLine);
    }

    public static async Task Send(IChannel channel, string order)
    {
        await channel.BasicPublishAsync("", "orders", Encoding.UTF8.GetBytes(order));
    }

    public static async Task<string> Handle(BasicDeliverEventArgs one)
    {
        await Task.Yield();
        return Encoding.UTF8.GetString(one.Body.Span);
    }
}
