using System;
using System.Text;
using System.Threading;

namespace app
{
    /// <summary>Calls whose values are recorded. The Java program beside it makes the same calls.</summary>
    public sealed class Values
    {
        enum Colour { RED, GREEN }

        sealed class Order
        {
            readonly int number;

            public Order(int number)
            {
                this.number = number;
            }

            public override string ToString()
            {
                if (number < 0)
                {
                    throw new InvalidOperationException("no order");
                }
                return "order " + number + Mark();
            }

            string Mark()
            {
                return "!";
            }
        }

        readonly string name;

        Values(string name)
        {
            this.name = name + ".";
        }

        static long primitives(bool a, char b, byte c, short d, int e, long f, float g, double h)
        {
            e = e + 1;
            return e + f;
        }

        static string text(string s, int times)
        {
            if (times < 0)
            {
                throw new ArgumentException("times");
            }
            string all = s;
            for (int i = 1; i < times; i++)
            {
                all = all + s;
            }
            return all;
        }

        static void objects(object a, int[] b, string[] c, object d)
        {
            say("objects");
        }

        static Order order(Order o)
        {
            say("order");
            return o;
        }

        static int nested(int n)
        {
            return n == 0 ? 0 : n + nested(n - 1);
        }

        string instance(string s)
        {
            s = s + "?";
            return name + s;
        }

        static void nothing(int n)
        {
            say("nothing " + n);
        }

        static T same<T>(T value)
        {
            say("same");
            return value;
        }

        static void say(string s)
        {
            Console.WriteLine(s);
        }

        static void Main()
        {
            say("" + primitives(true, 'x', 4, -500, 1, 1L << 40, 2.5f, -0.125));
            say("" + primitives(false, '\ud83d', 0, short.MinValue, int.MinValue, long.MinValue, 0f, 1e300));
            say(text("a", 3));
            say(text("select * from users where password=hunter2 and token=12-34;", 1));
            say("" + text(new string('y', 200), 2).Length);
            say("" + text(new string('a', 5000) + "token=1", 1).Length);
            say(text(null, 1) ?? "null");
            say(text("", 1));
            say(text("größe \u20ac \ud83d\ude00", 1));
            try
            {
                text("fails", -1);
            }
            catch (ArgumentException e)
            {
                say(e.Message);
            }
            objects("password=x", new int[] {1, 2, 3}, new string[] {"a", null}, Colour.GREEN);
            objects(12, null, new string[0], 1.5);
            objects(new object[] {1, new object[] {true, 'c', 2L}}, new int[300], null, Colour.RED);
            // What is masked begins in front of the limit and ends behind it.
            objects(new StringBuilder("0123456789 0123456789 password=secret"), null, null, null);
            say("" + order(new Order(7)));
            order(null);
            order(new Order(-1));
            say("" + nested(3));
            say(new Values("n").instance("i"));
            nothing(5);
            same("text");
            same(6);
            var thread = new Thread(() => { text("thread", 1); });
            thread.Start();
            thread.Join();
        }
    }
}
