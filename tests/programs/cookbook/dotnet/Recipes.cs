using System;
using System.IO;
using System.Threading;

// What the recipes of docs/cookbook.md are about: a class for each, in the order of the page.
namespace Acme
{
    public static class Recipes
    {
        public static void Say(string text) => Console.WriteLine(text);

        public static void Main()
        {
            Say("== retry");
            Say(new Client().Send("hello"));
            Say("== cache");
            var prices = new Prices();
            Say(prices.Of("tea") + " " + prices.Of("tea"));
            Say("== deletions");
            var folder = Directory.CreateDirectory(Path.Combine(Path.GetTempPath(), "cookbook" + Guid.NewGuid()));
            var file = Path.Combine(folder.FullName, "cookbook.tmp");
            File.WriteAllText(file, "");
            Disk.Remove(file);
            Say(File.Exists(file) ? "false" : "true");
            folder.Delete();
            Say("== clock");
            Say(Ages.Of(1_000L).ToString());
            Say("== who sets it");
            var order = new Order("new");
            order.Pay();
            Say(order.state);
            Say("== slow");
            new Report().Print();
            Say("== no nulls");
            new Mailer().Mail("a@b", "hello");
            try { new Mailer().Mail("a@b", null); } catch (ArgumentException e) { Say(e.Message); }
            Say("== fallback");
            Say(new Rates().Today().ToString(System.Globalization.CultureInfo.InvariantCulture));
            Say("== translate");
            try { new Store().Read(4); } catch (InvalidOperationException e) { Say(e.Message + ", " + e.InnerException.Message); }
            Say("== swallowed");
            Say(Import.Number("12") + " " + Import.Number("twelve"));
            Say("== log");
            Say(new Sums().Of(1, 2).ToString());
            try { new Sums().Divide(1); } catch (NotSupportedException e) { Say(e.Message); }
            Say("== permission");
            try { new Admin().Drop(); } catch (UnauthorizedAccessException e) { Say(e.Message); }
            Say("== transactions");
            var ledger = new Ledger();
            ledger.Book(5);
            try { ledger.Book(-1); } catch (NotSupportedException e) { Say(e.Message); }
            Say("== clean");
            Say(new Search().Find("  tea "));
            Say("== hide");
            Say(new Card("4711123456781234").Show());
            Say("== flag");
            new Newsletter().Send();
            Say("== limit");
            var printer = new Printer();
            var threads = new Thread[8];
            for (int i = 0; i < threads.Length; i++)
            {
                threads[i] = new Thread(() => printer.Print());
                threads[i].Start();
            }
            foreach (var thread in threads) thread.Join();
            Say(printer.printed + " printed, two at a time: " + (printer.most <= 2 ? "true" : "false"));
            Say("== background");
            var index = new Index();
            index.Update("tea");
            for (int i = 0; index.by == null && i < 60_000; i++) Thread.Sleep(1);
            Say(index.by);
            Say("== makers");
            Say(new Door().Open().user);
            Say("== changes");
            var settings = new Settings();
            settings.theme = "dark";
            Say("== locks");
            Say(new Stock().Take().ToString());
            Say("== no exit");
            Shell.Quit();
            Say("end");
        }
    }

    class Client
    {
        int tries;

        internal string Send(string text)
        {
            if (++tries < 3) throw new InvalidOperationException("no answer");
            return text + " at try " + tries;
        }
    }

    class Prices
    {
        int asked;

        internal string Of(string what) => what + " costs " + ++asked;
    }

    static class Disk
    {
        internal static void Remove(string file) => File.Delete(file);
    }

    static class Ages
    {
        static readonly DateTime Epoch = new DateTime(1970, 1, 1, 0, 0, 0, DateTimeKind.Utc);

        internal static long Of(long since) => ((long)(DateTime.UtcNow - Epoch).TotalMilliseconds - since) / 1_000;
    }

    class Order
    {
        internal string state;

        internal Order(string state) { this.state = state; }

        internal void Pay() { state = "paid"; }
    }

    class Report
    {
        internal void Print() => Thread.Sleep(40);
    }

    class Mailer
    {
        public void Mail(string to, string text) => Recipes.Say("mail to " + to + ": " + text);
    }

    class Rates
    {
        internal double Today() { throw new InvalidOperationException("no rates"); }
    }

    class Store
    {
        public string Read(int key) { throw new IOException("no " + key); }
    }

    static class Import
    {
        internal static int Number(string text)
        {
            try
            {
                if (text.Length > 2) throw new NotSupportedException(text);
                return int.Parse(text);
            }
            catch (NotSupportedException)
            {
                return -1;
            }
        }
    }

    class Sums
    {
        internal int Of(int a, int b) => a + b;

        internal int Divide(int a) { throw new NotSupportedException("no division of " + a); }
    }

    [AttributeUsage(AttributeTargets.Method)]
    class AdminOnlyAttribute : Attribute { }

    class Admin
    {
        [AdminOnly]
        internal void Drop() => Recipes.Say("dropped");
    }

    class Ledger
    {
        public void Book(int amount)
        {
            if (amount < 0) throw new NotSupportedException("no " + amount);
            Recipes.Say("booked " + amount);
        }
    }

    class Search
    {
        internal string Find(string text) => "found '" + text + "'";
    }

    class Card
    {
        readonly string number;

        internal Card(string number) { this.number = number; }

        internal string Show() => number;
    }

    class Newsletter
    {
        internal void Send() => Recipes.Say("sent");
    }

    class Printer
    {
        int now;
        internal int most, printed;

        internal void Print()
        {
            Enter(1);
            // Long enough for others to come in, if nobody keeps them out.
            Thread.Sleep(20);
            Enter(-1);
        }

        void Enter(int more)
        {
            lock (this)
            {
                now += more;
                printed += more > 0 ? 1 : 0;
                most = Math.Max(most, now);
            }
        }
    }

    class Index
    {
        internal volatile string by;

        internal void Update(string word) { by = word + " by " + Thread.CurrentThread.Name; }
    }

    class Session
    {
        internal readonly string user;

        internal Session(string user) { this.user = user; }
    }

    class Door
    {
        internal Session Open() => new Session("guest");
    }

    class Settings
    {
        internal string theme = "light";
    }

    class Stock
    {
        readonly object gate = new object();
        int left = 7;

        internal int Take()
        {
            lock (gate) return --left;
        }
    }

    static class Shell
    {
        internal static void Quit() => Environment.Exit(3);
    }
}
