using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Collections.Immutable;
using System.ComponentModel;
using System.Globalization;
using System.IO;
using System.IO.Compression;
using System.Linq;
using System.Linq.Expressions;
using System.Net;
using System.Net.Http;
using System.Net.Sockets;
using System.Numerics;
using System.Text;
using System.Text.Json;
using System.Text.RegularExpressions;
using System.Threading;
using System.Threading.Channels;
using System.Threading.Tasks;
using System.Threading.Tasks.Dataflow;
using System.Xml.Linq;
using System.Xml.Serialization;

/// <summary>Uses much of the class library and prints what is the same each time.</summary>
public static class Framework
{
    public record Item(int Id, string Name, decimal[] Prices, Dictionary<string, DateTime> Dates);

    public class Note
    {
        public int Id { get; set; }
        public List<string> Lines { get; set; } = new();
    }

    public static async Task<int> Main()
    {
        Collections();
        Texts();
        Documents();
        Compressed();
        Expressions();
        await Flows();
        await Web();
        Parallels();
        Failures();
        return 0;
    }

    private static void Collections()
    {
        var sorted = new SortedDictionary<string, int>(StringComparer.Ordinal);
        foreach (string word in "the quick brown fox jumps over the lazy dog and the cat".Split(' '))
        {
            sorted[word] = sorted.GetValueOrDefault(word) + 1;
        }
        Console.WriteLine(string.Join(" ", sorted.Select(p => $"{p.Key}={p.Value}")));
        var groups = Enumerable.Range(1, 1000).GroupBy(n => n % 7).OrderByDescending(g => g.Sum()).Select(g => (g.Key, Sum: g.Sum(), Last: g.Last()));
        Console.WriteLine(string.Join(" ", groups));
        var queue = new PriorityQueue<string, int>();
        foreach (int n in new[] { 5, 3, 9, 1 })
        {
            queue.Enqueue($"n{n}", n);
        }
        Console.WriteLine($"{queue.Dequeue()} {queue.Dequeue()} {ImmutableSortedSet.CreateRange(new[] { 3, 1, 2 }).Remove(1).First()} {new LinkedList<int>(new[] { 1, 2 }).Last!.Value}");
        Console.WriteLine(BigInteger.Pow(3, 200) % 1_000_007);
    }

    private static void Texts()
    {
        var regex = new Regex(@"(?<year>\d{4})-(?<month>\d\d)", RegexOptions.Compiled);
        Console.WriteLine(string.Join(";", regex.Matches("1999-12, 2024-02 and 2031-07").Select(m => m.Groups["month"].Value)));
        Console.WriteLine(Regex.Replace("a1b22c333", @"\d+", m => m.Value.Length.ToString(CultureInfo.InvariantCulture)));
        Console.WriteLine(new Uri("http://user@example.org:8080/a/../b?q=%20x#f").AbsoluteUri);
        Console.WriteLine(TypeDescriptor.GetConverter(typeof(DateTimeOffset)).ConvertFromInvariantString("2020-02-29T12:00:00+01:00"));
        Console.WriteLine(Convert.ToBase64String(Encoding.UTF8.GetBytes("žluťoučký kůň")));
    }

    private static void Documents()
    {
        var item = new Item(7, "tea \"green\"", new[] { 1.5m, 2.25m }, new() { ["made"] = new DateTime(2020, 2, 29) });
        string json = JsonSerializer.Serialize(item, new JsonSerializerOptions { WriteIndented = true });
        Item back = JsonSerializer.Deserialize<Item>(json)!;
        Console.WriteLine($"{json.Length} {back.Name} {back.Prices.Sum()} {back.Dates["made"]:yyyy-MM-dd}");
        var tree = XElement.Parse("<a><b x='1'/><b x='2'>t</b></a>");
        Console.WriteLine($"{tree.Elements("b").Sum(b => (int)b.Attribute("x")!)} {tree.ToString(SaveOptions.DisableFormatting)}");
        var serializer = new XmlSerializer(typeof(Note));
        using var text = new StringWriter();
        serializer.Serialize(text, new Note { Id = 3, Lines = { "one", "two" } });
        var note = (Note)serializer.Deserialize(new StringReader(text.ToString()))!;
        Console.WriteLine($"{note.Id} {string.Join(",", note.Lines)}");
    }

    private static void Compressed()
    {
        byte[] data = Encoding.ASCII.GetBytes(string.Concat(Enumerable.Range(0, 5000).Select(n => (n * n).ToString(CultureInfo.InvariantCulture))));
        using var zip = new MemoryStream();
        using (var archive = new ZipArchive(zip, ZipArchiveMode.Create, true))
        {
            using Stream entry = archive.CreateEntry("data").Open();
            entry.Write(data);
        }
        using var read = new ZipArchive(zip);
        using Stream inside = read.Entries[0].Open();
        using var copy = new MemoryStream();
        inside.CopyTo(copy);
        Console.WriteLine($"{copy.Length} {copy.ToArray().AsSpan().SequenceEqual(data)}");
    }

    private static void Expressions()
    {
        ParameterExpression n = Expression.Parameter(typeof(int));
        Func<int, int> compiled = Expression.Lambda<Func<int, int>>(Expression.Add(Expression.Multiply(n, n), Expression.Constant(1)), n).Compile();
        dynamic text = "dynamic";
        Console.WriteLine($"{compiled(12)} {text.Length} {Enumerable.Range(0, 5).AsQueryable().Where(x => x > 2).Sum()}");
    }

    private static async Task Flows()
    {
        var channel = Channel.CreateBounded<int>(4);
        Task writer = Task.Run(async () =>
        {
            for (int i = 0; i < 100; i++)
            {
                await channel.Writer.WriteAsync(i);
            }
            channel.Writer.Complete();
        });
        int sum = 0;
        await foreach (int i in channel.Reader.ReadAllAsync())
        {
            sum += i;
        }
        await writer;
        var squares = new TransformBlock<int, int>(x => x * x, new ExecutionDataflowBlockOptions { MaxDegreeOfParallelism = 2 });
        var total = new ActionBlock<int>(x => sum += x);
        squares.LinkTo(total, new DataflowLinkOptions { PropagateCompletion = true });
        for (int i = 0; i < 20; i++)
        {
            squares.Post(i);
        }
        squares.Complete();
        await total.Completion;
        Console.WriteLine(sum);
    }

    private static async Task Web()
    {
        using var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start();
        Task server = Task.Run(async () =>
        {
            for (int i = 0; i < 3; i++)
            {
                using TcpClient client = await listener.AcceptTcpClientAsync();
                using var reader = new StreamReader(client.GetStream());
                string first = (await reader.ReadLineAsync())!;
                while (await reader.ReadLineAsync() is { Length: > 0 })
                {
                }
                byte[] answer = Encoding.ASCII.GetBytes($"HTTP/1.1 200 OK\r\nContent-Length: {first.Length}\r\nConnection: close\r\n\r\n{first}");
                await client.GetStream().WriteAsync(answer);
            }
        });
        using var http = new HttpClient(new SocketsHttpHandler { UseProxy = false });
        int port = ((IPEndPoint)listener.LocalEndpoint).Port;
        for (int i = 0; i < 3; i++)
        {
            Console.WriteLine(await http.GetStringAsync($"http://127.0.0.1:{port}/page{i}"));
        }
        await server;
    }

    private static void Parallels()
    {
        var bag = new ConcurrentDictionary<int, int>();
        Parallel.For(0, 200, i => bag.AddOrUpdate(i % 10, i, (_, old) => old + i));
        Console.WriteLine($"{bag.OrderBy(p => p.Key).Sum(p => p.Key * p.Value)} {Enumerable.Range(0, 1000).AsParallel().Where(n => n % 3 == 0).Sum()}");
    }

    private static void Failures()
    {
        foreach (Action wrong in new Action[]
        {
            () => JsonSerializer.Deserialize<Item>("{"), () => XElement.Parse("<a>"), () => _ = new Regex("("), () => _ = new List<int>(new[] { 1 })[3],
            () => Enumerable.Empty<int>().First(), () => _ = new Uri("::"),
        })
        {
            try
            {
                wrong();
            }
            catch (Exception e)
            {
                Console.WriteLine(e.GetType().Name);
            }
        }
    }
}
