using System;
using System.Collections.Generic;
using System.IO;
using System.Text;

namespace App {
    public class Order {
        public string State = "new";
        private long wide = 1;
        public double Exact;
        public volatile bool Flag;
        public int[] Items = { 1, 2 };
        public byte Small;
        public readonly string Fixed;
        public static int Count;
        public static double Total;
        public Money Price;
        public List<int> Numbers = new List<int>();
        public int Auto { get; set; }

        public Order(string text) {
            Fixed = text;
        }

        public long Widen(int more) {
            wide += more;
            return wide;
        }
    }

    public class Inner : Order {
        public Inner() : base("inner") {}
    }

    public struct Money {
        public int Cents;

        public Money(int cents) {
            Cents = cents;
        }

        public override string ToString() {
            return Cents + " cents";
        }
    }

    public class Box<T> {
        public T Value;
        public int Times;

        public T Get() {
            Times++;
            return Value;
        }
    }

    public sealed class Made {
        readonly string text;

        public Made() : this("none") {}

        public Made(string text) {
            this.text = text;
        }

        public Made(long a, double b, string c) : this(a + " " + b + " " + c) {}

        public override string ToString() {
            return "made of " + text;
        }
    }

    public class Odd : IOException {
        public Odd(string message) : base(message) {}
    }

    public class Points {
        static void Say(string text) {
            Console.WriteLine(text);
        }

        static string Fields() {
            Order order = new Order("fixed");
            order.State = "open";
            order.State += "ed";
            order.Exact = order.Widen(3) + 0.5;
            order.Flag = !order.Flag;
            order.Small = unchecked((byte) 300);
            order.Items[1] = order.Items[0] + 4;
            order.Auto = 7;
            Order.Count++;
            Order.Total = Order.Count * 2.5;
            order.Price = new Money(5);
            return order.State + " " + order.Exact + " " + order.Flag + " " + order.Small + " " + order.Items[1] + " " + Order.Total + " " + order.Auto + " " + order.Price;
        }

        static string Below(Order order) {
            return "a" + order.State + (order.Flag ? order.State : "b") + order.Small;
        }

        static string Structs(Order order) {
            order.Price.Cents = 3;
            Money money = new Money(4);
            money.Cents++;
            int.TryParse("12", out Order.Count);
            return order.Price.Cents + " " + money.Cents + " " + Order.Count;
        }

        static string Generics() {
            Box<string> box = new Box<string> { Value = "boxed" };
            return box.Get() + box.Times;
        }

        static string Objects(bool more) {
            List<object> made = new List<object>();
            made.Add(new Made());
            made.Add(new Made("text"));
            made.Add(new Made(5, 2.5, "c"));
            made.Add(new Made(new Made("inner").ToString()));
            made.Add(new Made(more ? "chosen" : "not chosen"));
            made.Add(new Money(9));
            made.Add(new Uri("http://a/b"));
            made.Add(new DateTime(2020, 1, 2).Year);
            Func<int> function = made.GetHashCode;
            new Made("dropped");
            return string.Join(", ", made);
        }

        static string Replaced(Order order) {
            order.Exact = 4;
            order.Flag = true;
            Order.Total = 7;
            double exact = order.Exact;
            bool flag = order.Flag;
            return exact + " " + flag + " " + Order.Total + " " + new StringBuilder("a").Append(order.Small) + " " + new TimeSpan(1, 2, 3) + " " + new Made("x");
        }

        static int Thrown(int how) {
            try {
                if (how == 0) {
                    throw new FileNotFoundException("zero");
                }
                if (how == 1) {
                    throw new InvalidOperationException("one");
                }
                if (how == 2) {
                    Exception wide = new Odd("two");
                    throw wide;
                }
                return int.Parse("x" + how);
            } catch (FileNotFoundException e) {
                Say("not found " + e.Message);
                return 1;
            } catch (InvalidOperationException) {
                Say("invalid");
                return 2;
            } catch (Odd) {
                throw;
            } finally {
                Say("finally");
            }
        }

        static string Caught(int how) {
            try {
                return "returned " + Thrown(how);
            } catch (IOException e) {
                return "caught " + e.Message;
            } catch {
                return "something";
            }
        }

        static int Lines(int n) {
            int sum = 0;
            for (int i = 0; i < n; i++) {
                sum += i;
            }
            return sum;
        }

        string text = "own";

        int Of(int n) {
            text = "changed" + n;
            return n > 0 ? Of(n - 1) : text.Length;
        }

        static string Guarded() {
            Order.Count = 100;
            return "guarded " + Order.Count;
        }

        static string Unguarded() {
            try {
                Order.Count = 200;
                return "not thrown";
            } catch (InvalidOperationException e) {
                return "thrown " + e.Message + " " + Order.Count;
            }
        }

        static string Sum(int n) {
            string all = "";
            foreach (int i in new int[] { n, n + 1 }) {
                if (i > 0) {
                    all = Order.Count + all + i;
                }
            }
            return all;
        }

        public static void Main() {
            Say(Fields());
            Say(Below(new Order("below")));
            Say(Below(new Inner()));
            Say(Structs(new Order("structs")));
            Say(Generics());
            Say(Objects(true));
            Say(Replaced(new Order("replaced")));
            for (int how = 0; how < 4; how++) {
                Say(Caught(how));
            }
            Say("" + Lines(3));
            Say("" + new Points().Of(2));
            Say(Guarded());
            Say(Unguarded());
            Say(Sum(1));
            Later.Run();
            Parts.Run();
        }
    }
}
