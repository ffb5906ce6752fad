using System.Collections.Concurrent;
using System.Diagnostics;
using log4net;
using log4net.Appender;
using log4net.Config;
using log4net.Core;
using log4net.Layout;

/// <summary>What goes through a queue.</summary>
public sealed class Item
{
}

/// <summary>The program handles requests and logs by log4net. It starts activities for messages, as message libraries do.</summary>
public static class Shop
{
    private static readonly ILog Log = LogManager.GetLogger(typeof(Shop));
    private static readonly ActivitySource Bus = new ActivitySource("Shop.Bus");
    private static readonly ActivitySource Rpc = new ActivitySource("Grpc.Net.Client");
    private static readonly ActivitySource Sql = new ActivitySource("Npgsql");
    private static readonly BlockingCollection<Item> Items = new BlockingCollection<Item>();

    public static void Handle(int number)
    {
        Log.Info("request " + number);
        Task.Run(() => Log.Info("task " + number)).Wait();
        Log.Debug("nobody wants this");
    }

    public static void Put(Item item)
    {
        Items.Add(item);
    }

    /// <summary>A library's own activity in the context that was taken.</summary>
    public static void Run(Item item)
    {
        using (Bus.StartActivity("inner"))
        {
            Log.Info("item");
        }
        Log.Info("behind");
    }

    private static void Batch()
    {
        var links = new List<ActivityLink>();
        for (int i = 0; i < 2; i++)
        {
            using Activity sent = Bus.StartActivity("sent", ActivityKind.Producer);
            if (sent != null)
            {
                sent.TraceStateString = i == 0 ? "vendor=1" : null;
                links.Add(new ActivityLink(sent.Context));
            }
        }
        using (Bus.StartActivity("received", ActivityKind.Consumer, default(ActivityContext), null, links))
        {
            Log.Info("batch");
        }
    }

    /// <summary>What the libraries of gRPC and PostgreSQL tell.</summary>
    private static void Tell()
    {
        foreach (string status in new[] { "0", "5", "99" })
        {
            using Activity call = Rpc.StartActivity("Grpc.Net.Client.GrpcOut", ActivityKind.Client);
            call?.SetTag("grpc.method", "/shop.Basket/Get");
            call?.SetTag("grpc.status_code", status);
        }
        using Activity query = Sql.StartActivity("postgresql", ActivityKind.Client);
        query?.SetTag("db.query.text", "select o.\"Id\" from shop.\"orders\" as o where o.name = 'geheim' and o.n > 7 and o.\"x");
    }

    private static void Configure()
    {
        var layout = new PatternLayout("[%property{trace_id}] [%property{span_id}] [%property{trace_flags}] %message%newline");
        var console = new ConsoleAppender { Layout = layout };
        // What it gets is written when the program ends, in no context.
        var later = new BufferingForwardingAppender { BufferSize = 1000, Fix = FixFlags.All };
        later.AddAppender(console);
        later.ActivateOptions();
        var repository = (log4net.Repository.Hierarchy.Hierarchy)LogManager.GetRepository(typeof(Shop).Assembly);
        repository.Root.Level = Level.Info;
        BasicConfigurator.Configure(repository, console, later);
    }

    public static void Main()
    {
        Configure();
        Log.Info("outside");
        Handle(1);
        ThreadContext.Properties["trace_id"] = "its own";
        Handle(2);
        ThreadContext.Properties.Remove("trace_id");
        Put(new Item());
        var runner = new Thread(() => Run(Items.Take()));
        runner.Start();
        runner.Join();
        Batch();
        Tell();
        Log.Info("outside");
        LogManager.Shutdown();
    }
}
