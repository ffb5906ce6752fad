using System;
using System.Collections;
using System.Collections.Generic;
using System.IO;
using System.Text;

namespace App {
    class Base {
        public virtual string Name() {
            return "base";
        }

        protected int Hidden() {
            return 7;
        }
    }

    class Derived : Base {
        public override string Name() {
            return "derived of " + base.Name();
        }

        public int Open() {
            return Hidden();
        }
    }

    interface IShape {
        double Area(double scale);
    }

    struct Square : IShape {
        public double Side;

        public double Area(double scale) {
            return Side * Side * scale;
        }
    }

    static class Calls {
        static readonly string Text;

        static Calls() {
            Text = string.Concat("static", " text");
        }

        static void Say(string text) {
            Console.WriteLine(text);
        }

        static double Scaled<T>(T shape) where T : IShape {
            return shape.Area(2);
        }

        static int Compared(int a, double b) {
            int below = 5;
            // Something lies on the stack below the call, and a branch in its arguments.
            return below + string.Compare("a", b > 2 ? "b" : "c") * 10 + Math.Max(below, a > 2 ? 8 : 9);
        }

        static object Fallible(Hashtable map, object key) {
            try {
                return ((string)map[key]).Length;
            } catch (NullReferenceException) {
                return -1;
            } finally {
                Say("finally");
            }
        }

        static IEnumerable<string> Lines() {
            var list = new ArrayList();
            list.Add("yielded");
            yield return (string)list[0];
        }

        static void Main() {
            Say("exists " + File.Exists("nowhere.txt"));
            Say("max " + Math.Max(1, 2) + " " + Math.Max(3L, 4L));
            var list = new ArrayList();
            Say("add " + list.Add("x"));
            list.Insert(0, "first");
            Say("item " + list[0]);
            var map = new Hashtable();
            map["a"] = "one";
            Say("get " + map["a"] + " " + Fallible(map, "a") + " " + Fallible(map, "c"));
            Say("pow " + Math.Pow(2, 3));
            int abs = Math.Abs(-1);

            abs += Math.Abs(-2) + Math.Abs(-3);
            Say("abs " + abs);
            Say("sub " + "abcdef".Substring(1, 2) + "abcdef".Substring(4));
            int number;
            Say("parse " + int.TryParse("12", out number) + " " + number);
            Say("compared " + Compared(3, 2.5));
            Func<string> lambda = () => string.Concat("lambda", "!");
            Say(lambda());
            Say(Text);
            Say("name " + new Derived().Name() + " " + new Derived().Open());
            Say("area " + Scaled(new Square { Side = 2 }) + " " + ((IShape)new Square { Side = 3 }).Area(1));
            Say("generic " + new List<int> { 1, 2 }.Count + " " + Array.IndexOf(new[] { "a", "b" }, "b"));
            foreach (var line in Lines()) {
                Say(line);
            }
            var builder = new StringBuilder();
            builder.Append("built").Append('!');
            Say(builder.ToString());
            try {
                Say("" + int.Parse("12"));
            } catch (InvalidOperationException e) {
                Say(e.Message);
            }
            try {
                new ArrayList().RemoveAt(3);
            } catch (ArgumentOutOfRangeException) {
                Say("thrown");
            }
        }
    }
}
