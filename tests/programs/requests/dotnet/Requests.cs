using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

namespace App
{
    /// <summary>A request as a server has it.</summary>
    public class Request
    {
        private readonly Dictionary<string, string> headers = new Dictionary<string, string>();

        public string Verb { get; set; }

        public string Path { get; set; }

        public string Header(string name)
        {
            string value;
            return headers.TryGetValue(name, out value) ? value : null;
        }

        public void SetHeader(string name, string value)
        {
            headers[name] = value;
        }
    }

    /// <summary>An answer, whose status is known at the end.</summary>
    public class Response
    {
        public int Status = 200;
    }

    /// <summary>What asks the database, itself by way of a driver that has the same method.</summary>
    public class Db
    {
        public virtual int Query(string sql)
        {
            return sql.Length;
        }
    }

    public class Pool : Db
    {
        private readonly Db driver = new Db();

        public override int Query(string sql)
        {
            if (sql.Contains("broken"))
            {
                throw new ArgumentException("no such table");
            }
            return driver.Query(sql);
        }
    }

    /// <summary>What rules call to send headers.</summary>
    public static class Carrier
    {
        public static void Set(Request request, string name, string value)
        {
            if (value != null)
            {
                request.SetHeader(name, value);
            }
        }
    }

    /// <summary>A message with headers in bytes; several may have one name.</summary>
    public class Envelope
    {
        public readonly List<KeyValuePair<string, byte[]>> Headers = new List<KeyValuePair<string, byte[]>>();

        public void Add(string name, byte[] value)
        {
            Headers.Add(new KeyValuePair<string, byte[]>(name, value));
        }

        public void Remove(string name)
        {
            Headers.RemoveAll(one => one.Key == name);
        }

        public bool TryHeader(string name, out byte[] value)
        {
            int at = Headers.FindIndex(one => one.Key == name);
            value = at < 0 ? null : Headers[at].Value;
            return at >= 0;
        }

        /// <summary>It goes out: whether no header is there twice.</summary>
        public bool Packed()
        {
            return Headers.TrueForAll(one => Headers.FindAll(other => other.Key == one.Key).Count == 1);
        }
    }

    /// <summary>What sends messages, and gets them.</summary>
    public static class Post
    {
        private static Envelope box;

        public static void Send(Envelope envelope)
        {
            Console.WriteLine("packed " + (envelope.Packed() && envelope.Packed()));
            Put(envelope);
        }

        public static void Put(Envelope envelope)
        {
            box = envelope;
        }

        public static Envelope Poll()
        {
            return box;
        }

        public static void Open(Envelope envelope)
        {
            Handlers.Db.Query("SELECT opened");
        }
    }

    /// <summary>A client of another service.</summary>
    public class Client
    {
        public Response Send(Request request)
        {
            return Program.Serve(request);
        }

        public async Task<Response> SendAsync(Request request)
        {
            await Task.Yield();
            return await Task.Run(() => Program.Serve(request));
        }
    }

    /// <summary>What gives tasks and is not async itself, as drivers are.</summary>
    public class Driver
    {
        public Task<int> Ask(string sql)
        {
            if (sql.Contains("known"))
            {
                return Task.FromResult(1);
            }
            return Task.Delay(1).ContinueWith(_ => Parse(sql));
        }

        public int Parse(string sql)
        {
            if (sql.Contains("broken"))
            {
                throw new ArgumentException("no such table");
            }
            return sql.Length;
        }
    }

    public class Server
    {
        public void Service(Request request, Response response)
        {
            Route(request);
            try
            {
                Handlers.Handle(request.Path.Split('/')[1]);
            }
            catch (InvalidOperationException)
            {
                response.Status = 409;
            }
            catch (ArgumentException)
            {
                response.Status = 500;
            }
        }

        public async Task ServiceAsync(Request request, Response response)
        {
            Route(request);
            try
            {
                await Handlers.HandleAsync(request.Path.Split('/')[1]);
            }
            catch (OperationCanceledException)
            {
                response.Status = 499;
            }
            catch (InvalidOperationException)
            {
                response.Status = 409;
            }
            catch (ArgumentException)
            {
                response.Status = 500;
            }
        }

        public string Route(Request request)
        {
            int last = request.Path.LastIndexOf('/');
            return last == 0 ? request.Path : request.Path.Substring(0, last) + "/{id}";
        }
    }

    public static class Handlers
    {
        public static readonly Db Db = new Pool();

        public static void Handle(string what)
        {
            switch (what)
            {
                case "plain":
                    Db.Query("SELECT 1");
                    break;
                case "fail":
                    throw new ArgumentException("on purpose");
                case "refuse":
                    throw new InvalidOperationException("no");
                case "broken":
                    Db.Query("SELECT broken");
                    break;
                case "call":
                    new Client().Send(new Request { Verb = "GET", Path = "/price/7" });
                    break;
                case "price":
                    Db.Query("SELECT price");
                    break;
                case "run":
                    Elsewhere("SELECT run");
                    break;
                case "queue":
                    Done(done => ThreadPool.QueueUserWorkItem(_ => { Db.Query("SELECT queue"); done.Set(); }));
                    break;
                case "thread":
                    var thread = new Thread(() => Db.Query("SELECT thread"));
                    thread.Start();
                    thread.Join();
                    break;
                case "timer":
                    Timer timer = null;
                    Done(done => timer = new Timer(_ => { Db.Query("SELECT timer"); done.Set(); }, null, 1, Timeout.Infinite));
                    timer.Dispose();
                    break;
                case "all":
                    Elsewhere("SELECT first", "SELECT second");
                    break;
                case "later":
                    Db.QueryLater("SELECT later").Wait();
                    break;
                case "at":
                    At.Ask("SELECT at");
                    At.AskLater("SELECT at later").Wait();
                    At.AskLater("SELECT at known").Wait();
                    try
                    {
                        At.Ask("SELECT at broken");
                    }
                    catch (ArgumentException)
                    {
                        // its span has failed
                    }
                    break;
                case "hand":
                case "consume":
                case "batch":
                case "leave":
                case "pieces":
                    Queues.Handle(what);
                    break;
                default:
                    throw new NotSupportedException(what);
            }
        }

        /// <summary>Tasks that nobody waits for, who could run them himself then.</summary>
        private static void Elsewhere(params string[] all)
        {
            using (var done = new CountdownEvent(all.Length))
            {
                foreach (string sql in all)
                {
                    Task.Run(() => { Db.Query(sql); done.Signal(); });
                }
                done.Wait();
            }
        }

        private static void Done(Action<ManualResetEventSlim> act)
        {
            using (var done = new ManualResetEventSlim())
            {
                act(done);
                done.Wait();
            }
        }

        public static async Task HandleAsync(string what)
        {
            await Task.Delay(1);
            switch (what)
            {
                case "await":
                    await Db.QueryLater("SELECT await");
                    Db.Query("SELECT behind");
                    break;
                case "asyncfail":
                    await Task.Delay(1);
                    throw new ArgumentException("on purpose");
                case "cancel":
                    using (var stop = new CancellationTokenSource())
                    {
                        Task wait = Task.Delay(-1, stop.Token);
                        // No timer: where its callback is under way when the program ends, Mono aborts it and fails.
                        new Thread(stop.Cancel).Start();
                        await wait;
                    }
                    break;
                case "both":
                    await Task.WhenAll(Db.QueryLater("SELECT one"), Db.QueryLater("SELECT two"));
                    break;
                case "asynccall":
                    await new Client().SendAsync(new Request { Verb = "GET", Path = "/price/7" });
                    break;
                case "give":
                    await Driver.Ask("SELECT give");
                    await Driver.Ask("SELECT known");
                    Db.Query("SELECT behind");
                    break;
                case "givefail":
                    await Driver.Ask("SELECT broken");
                    break;
                case "giveboth":
                    await Task.WhenAll(Driver.Ask("SELECT one"), Driver.Ask("SELECT two"));
                    break;
                default:
                    throw new NotSupportedException(what);
            }
        }

        private static readonly Driver Driver = new Driver();

        /// <summary>A span over awaits.</summary>
        public static async Task<int> QueryLater(this Db db, string sql)
        {
            await Task.Delay(1);
            int found = sql.Length;
            await Task.Yield();
            return found;
        }
    }

    /// <summary>Methods that are not woven: their calls are spans.</summary>
    public static class At
    {
        public static int Ask(string sql)
        {
            return Handlers.Db.Query(sql);
        }

        public static Task<int> AskLater(string sql)
        {
            return sql.Contains("known") ? Task.FromResult(Handlers.Db.Query(sql)) : Task.Run(async () =>
            {
                await Task.Yield();
                return Handlers.Db.Query(sql);
            });
        }
    }

    /// <summary>What goes through a queue.</summary>
    public class Message
    {
        public readonly ManualResetEventSlim Done = new ManualResetEventSlim();
        public bool IsConsumed;
    }

    /// <summary>A queue that gives its messages one by one.</summary>
    public class WorkQueue
    {
        private readonly Queue<Message> all = new Queue<Message>();

        public void Put(Message message)
        {
            lock (all)
            {
                all.Enqueue(message);
                Monitor.Pulse(all);
            }
        }

        public void Add(Message message)
        {
            Put(message);
        }

        public Message Take()
        {
            lock (all)
            {
                while (all.Count == 0)
                {
                    Monitor.Wait(all);
                }
                return all.Dequeue();
            }
        }

        public Message Peek()
        {
            lock (all)
            {
                return all.Peek();
            }
        }

        public bool TryTake(out Message message)
        {
            lock (all)
            {
                message = all.Count == 0 ? null : all.Dequeue();
                return message != null;
            }
        }
    }

    /// <summary>Queues, and the threads that empty them, which no request has started.</summary>
    public static class Queues
    {
        private static readonly Message Stop = new Message();
        private static readonly WorkQueue Work = new WorkQueue();
        public static readonly WorkQueue Left = new WorkQueue();
        private static readonly WorkQueue Pieces = new WorkQueue();
        private static readonly System.Collections.Concurrent.BlockingCollection<List<Message>> Batches
            = new System.Collections.Concurrent.BlockingCollection<List<Message>>();
        private static readonly Thread Worker = new Thread(DoWork);
        private static readonly Thread Batcher = new Thread(DoBatches);
        private static Task piecer;

        public static void Send(Message message)
        {
            Work.Put(message);
        }

        public static Message Note(Message message)
        {
            return message;
        }

        private static void DoWork()
        {
            for (Message message = Work.Take(); message != Stop; message = Work.Take())
            {
                if (message.IsConsumed)
                {
                    Consume(message);
                    ConsumeLater(message).Wait();
                }
                else
                {
                    Handlers.Db.Query("SELECT queue");
                }
                message.Done.Set();
            }
        }

        private static void DoBatches()
        {
            foreach (List<Message> all in Batches.GetConsumingEnumerable())
            {
                Consume(all);
                all[0].Done.Set();
            }
        }

        /// <summary>What it takes holds over its awaits, and for nobody else.</summary>
        private static async Task DoPieces()
        {
            await Task.Yield();
            for (Message message = Pieces.Take(); message != Stop; message = Pieces.Take())
            {
                await Task.Delay(1);
                Handlers.Db.Query("SELECT piece");
                await Task.Run(() => Handlers.Db.Query("SELECT task"));
                message.Done.Set();
            }
        }

        public static void Consume(Message message)
        {
            Handlers.Db.Query("SELECT consume");
        }

        public static async Task ConsumeLater(Message message)
        {
            await Task.Delay(1);
            Handlers.Db.Query("SELECT later");
        }

        public static void Consume(List<Message> all)
        {
            Handlers.Db.Query("SELECT batch");
        }

        /// <summary>What says itself where it comes from.</summary>
        public static void Receive(Request request)
        {
            Handlers.Db.Query("SELECT received");
        }

        /// <summary>A method that runs where its argument was given.</summary>
        public static void Visit(Message message)
        {
            Handlers.Db.Query("SELECT visit");
        }

        public static void Handle(string what)
        {
            var message = new Message { IsConsumed = what == "consume" };
            switch (what)
            {
                case "hand":
                    Work.Put(message);
                    break;
                case "consume":
                    Send(message);
                    break;
                case "batch":
                    Batches.Add(new List<Message> { Note(message), Note(new Message()), new Message() });
                    break;
                case "pieces":
                    Pieces.Put(message);
                    break;
                default:
                    Left.Add(message);
                    return;
            }
            message.Done.Wait();
        }

        /// <summary>What it takes is over with it.</summary>
        public static Message Drain()
        {
            Message message;
            Message none;
            Left.TryTake(out message);
            Handlers.Db.Query("SELECT drained");
            Left.TryTake(out none);
            Handlers.Db.Query("SELECT empty");
            Left.Add(message);
            Left.TryTake(out none);
            return message;
        }

        public static void Start()
        {
            Worker.Start();
            Batcher.Start();
            piecer = DoPieces();
        }

        public static void End()
        {
            Work.Put(Stop);
            Batches.CompleteAdding();
            Pieces.Put(Stop);
            Worker.Join();
            Batcher.Join();
            piecer.Wait();
        }
    }

    public static class Program
    {
        private static readonly Server Server = new Server();

        public static Response Serve(Request request)
        {
            var response = new Response();
            Server.Service(request, response);
            return response;
        }

        private static Task<Response> ServeAsync(Request request)
        {
            var response = new Response();
            return Server.ServiceAsync(request, response).ContinueWith(_ => response);
        }

        private static int Ask(string path, params string[] headers)
        {
            var request = new Request { Verb = "GET", Path = path };
            for (int i = 0; i < headers.Length; i += 2)
            {
                request.SetHeader(headers[i], headers[i + 1]);
            }
            bool later = Array.IndexOf(Later, path.Split('/')[1]) >= 0;
            return (later ? ServeAsync(request).Result : Serve(request)).Status;
        }

        private static readonly string[] Later = { "await", "asyncfail", "cancel", "both", "asynccall", "give", "givefail", "giveboth" };

        public static void Main(string[] args)
        {
            if (args.Length > 2)
            {
                var headers = new string[args.Length - 1];
                Array.Copy(args, 1, headers, 0, headers.Length);
                Ask("/call/in", headers);
                return;
            }
            Queues.Start();
            string[] kinds = { "plain", "fail", "refuse", "broken", "call", "run", "queue", "thread", "all", "later", "at", "hand", "consume", "batch", "pieces", "leave", "timer" };
            if (args.Length > 1)
            {
                Array.Resize(ref kinds, kinds.Length - 1); // Mono's timers take no context along
            }
            foreach (string kind in kinds)
            {
                Console.WriteLine(kind + " " + Ask("/" + kind + "/7"));
            }
            foreach (string kind in Later)
            {
                Console.WriteLine(kind + " " + Ask("/" + kind + "/7"));
            }
            Queues.Visit(Queues.Left.Peek());
            Queues.Visit(Queues.Drain());
            Handlers.Db.Query("SELECT after");
            Handlers.Db.Query("SELECT tick");
            string trace = "0af7651916cd43dd8448eb211c80319c";
            Ask("/plain/in", "traceparent", "00-" + trace + "-b7ad6b7169203331-01", "tracestate", "vendor=1", "baggage", "user=7");
            Ask("/await/in", "traceparent", "00-" + trace + "-b7ad6b7169203331-01");
            Ask("/call/on", "traceparent", "00-" + trace + "-b7ad6b7169203332-00");
            Ask("/asynccall/on", "traceparent", "00-" + trace + "-b7ad6b7169203332-00");
            Ask("/give/on", "traceparent", "00-" + trace + "-b7ad6b7169203332-00");
            Ask("/consume/on", "traceparent", "00-" + trace + "-b7ad6b7169203332-00");
            var linked = new Request { Verb = "GET", Path = "/linked" };
            linked.SetHeader("traceparent", "00-" + trace + "-b7ad6b7169203333-00");
            linked.SetHeader("tracestate", "vendor=3");
            Queues.Receive(linked);
            Post.Send(new Envelope());
            Post.Open(Post.Poll());
            Post.Put(new Envelope());
            Post.Poll();
            foreach (string wrong in new[] { "", "00-" + trace, "00-" + trace.ToUpperInvariant() + "-b7ad6b7169203331-01", "ff-" + trace + "-b7ad6b7169203331-01",
                "00-00000000000000000000000000000000-b7ad6b7169203331-01", "00-" + trace + "-0000000000000000-01", "00-" + trace + "-b7ad6b7169203331-01\r\nX: y" })
            {
                Ask("/plain/wrong", "traceparent", wrong, "tracestate", "vendor=2");
            }
            Many(int.Parse(args[0]));
            Queues.End();
        }

        /// <summary>Many requests at once, on threads that they share: none comes into another's context.</summary>
        private static void Many(int count)
        {
            string[] kinds = { "plain", "fail", "call", "await", "asyncfail", "cancel", "both", "asynccall", "thread", "give", "hand" };
            var all = new Task<int>[count];
            for (int i = 0; i < count; i++)
            {
                string kind = kinds[i % kinds.Length];
                var request = new Request { Verb = "GET", Path = "/" + kind + "/many" };
                bool later = Array.IndexOf(Later, kind) >= 0;
                all[i] = Task.Run(() => later ? ServeAsync(request) : Task.FromResult(Serve(request))).ContinueWith(done => done.Result.Status);
            }
            int sum = 0;
            foreach (Task<int> one in all)
            {
                sum += one.Result;
            }
            Console.WriteLine("many " + sum);
        }
    }
}
