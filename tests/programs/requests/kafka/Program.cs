using System.Text;
using Confluent.Kafka;

/// <summary>Messages by Confluent.Kafka, over the broker that librdkafka has within the process (`test.mock.num.brokers`).</summary>
public static class Program
{
    private static readonly Headers Own = new Headers { { "own", Encoding.UTF8.GetBytes("geheim") } };

    public static async Task Main()
    {
        var settings = new ProducerConfig { BootstrapServers = "127.0.0.1:1", MessageMaxBytes = 2000 };
        settings.Set("test.mock.num.brokers", "1");
        settings.Set("log_level", "0");
        using var producer = new ProducerBuilder<string, string>(settings).SetLogHandler((_, _) => { }).Build();
        using var admin = new DependentAdminClientBuilder(producer.Handle).Build();
        BrokerMetadata broker = admin.GetMetadata(TimeSpan.FromSeconds(30)).Brokers[0];
        foreach (string what in new[] { "task", "callback", "no callback", "headers", "headers again", "partition", "fails", "fails later" })
        {
            await Send(what, producer);
        }
        producer.Flush();
        var own = new ConsumerConfig
        {
            BootstrapServers = broker.Host + ":" + broker.Port, GroupId = "readers", AutoOffsetReset = AutoOffsetReset.Earliest, EnablePartitionEof = false,
        };
        using var consumer = new ConsumerBuilder<string, string>(own).SetLogHandler((_, _) => { }).Build();
        consumer.Subscribe("orders");
        var got = new List<string>();
        for (int left = 6; left > 0; left--)
        {
            ConsumeResult<string, string> one = consumer.Consume(CancellationToken.None);
            Handle(one);
            got.Add(one.Topic + " " + one.Partition.Value + " " + one.Message.Value);
        }
        got.Sort(StringComparer.Ordinal);
        got.ForEach(Console.WriteLine);
        Console.WriteLine(consumer.Consume(TimeSpan.Zero) == null ? "no more" : "more");
        consumer.Close();
    }

    public static async Task Send(string what, IProducer<string, string> producer)
    {
        var message = new Message<string, string> { Key = "geheim", Value = what };
        switch (what)
        {
            case "task":
                await producer.ProduceAsync("orders", message);
                Console.WriteLine(message.Headers == null ? "no headers of its own" : "headers");
                break;
            case "callback":
                var done = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
                producer.Produce("orders", message, _ => done.SetResult());
                await done.Task;
                break;
            case "no callback":
                producer.Produce("orders", message);
                producer.Flush();
                break;
            case "headers":
            case "headers again":
                message.Headers = Own;
                await producer.ProduceAsync("orders", message);
                Console.WriteLine(message.Headers.Select(header => header.Key).Distinct().Count() == message.Headers.Count);
                break;
            case "partition":
                await producer.ProduceAsync(new TopicPartition("orders", new Partition(1)), message);
                break;
            case "fails":
                message.Value = new string('x', 3000);
                await Failing(() => producer.ProduceAsync("orders", message));
                break;
            case "fails later":
                await Failing(() => producer.ProduceAsync(new TopicPartition("orders", new Partition(99)), message));
                break;
        }
    }

    /// <summary>What the program does with a message.</summary>
    public static void Handle(ConsumeResult<string, string> got)
    {
        GC.KeepAlive(got);
    }

    private static async Task Failing(Func<Task> what)
    {
        try
        {
            await what();
        }
        catch (ProduceException<string, string> e)
        {
            Console.WriteLine(e.Error.Code);
        }
    }
}
