using System;
using System.Collections.Generic;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace app
{
    /// <summary>A program that has secrets in messages, names of threads, values and its command line. The same program is in Java.</summary>
    public class Secrets
    {
        class Told : Exception
        {
            public Told(string message) : base(message) { }

            public override string Message
            {
                get
                {
                    Console.WriteLine("asked");
                    return base.Message;
                }
            }
        }

        /// <summary>Its message is code that throws.</summary>
        class Wild : Exception
        {
            public override string Message
            {
                get
                {
                    Console.WriteLine("asked");
                    throw new InvalidOperationException("password=SECRETTHROWN");
                }
            }
        }

        /// <summary>Its message calls woven code that throws.</summary>
        class Endless : Exception
        {
            public override string Message { get { return query("bad password=SECRETAGAIN"); } }
        }

        static void inner(string text)
        {
            throw new Told("cannot run: " + text);
        }

        static string query(string text)
        {
            if (text.StartsWith("bad"))
            {
                inner(text);
            }
            return text;
        }

        static void wild(bool endless)
        {
            throw endless ? (Exception)new Endless() : new Wild();
        }

        static IEnumerable<string> items(string text)
        {
            if (text.Length > 0)
            {
                throw new Told("no item: " + text);
            }
            yield return text;
        }

        static async Task<string> later(string text)
        {
            await Task.Delay(1);
            throw new Told("too late: " + text);
        }

        static int pay(long card, char[] pin, byte[] bytes, StringBuilder builder)
        {
            return pin.Length + bytes.Length + builder.Length + (int)(card % 10);
        }

        static void query()
        {
            try
            {
                query("bad password=SECRETQUERY");
            }
            catch (Told)
            {
                Console.WriteLine("told");
            }
        }

        static void echo(string text)
        {
            throw new Told(text);
        }

        public static void Main(string[] args)
        {
            if (args[0] == "echo")
            {
                for (int i = 1; i < args.Length; i++)
                {
                    try
                    {
                        echo(args[i]);
                    }
                    catch (Told)
                    {
                        Console.WriteLine("told");
                    }
                }
                return;
            }
            if (args[0] == "items" || args[0] == "later")
            {
                try
                {
                    if (args[0] == "items")
                    {
                        foreach (string item in items("password=SECRETITEM"))
                        {
                            Console.WriteLine(item);
                        }
                    }
                    else
                    {
                        Console.WriteLine(later("password=SECRETITEM").GetAwaiter().GetResult());
                    }
                }
                catch (Told)
                {
                    Console.WriteLine("told");
                }
                return;
            }
            var thread = new Thread(query) { Name = "worker password=SECRETTHREAD" };
            thread.Start();
            thread.Join();
            Console.WriteLine(query("ok password=SECRETRESULT"));
            Console.WriteLine(pay(4111222233334444L, "pin=SECRETPIN".ToCharArray(), Encoding.UTF8.GetBytes("pin=SECRETBYTES"),
                new StringBuilder("pin=SECRETBUILDER")));
            for (int i = 0; i < 2; i++)
            {
                try
                {
                    wild(i > 0);
                }
                catch (Exception)
                {
                    Console.WriteLine("wild");
                }
            }
        }
    }
}
