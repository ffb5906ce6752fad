using System;
using System.IO;
using System.Text;

namespace Acme {
    /// <summary>Hooks at points.</summary>
    public static class Watch {
        static void Say(string text) {
            Console.WriteLine("  " + text);
        }

        static string Shown(object value) {
            if (value == null) {
                return "null";
            }
            Type type = value.GetType();
            bool plain = value is string || type.IsPrimitive || type.IsValueType || value is Uri || type.Name == "Made";
            return plain ? value.ToString() : value is Array ? "array" : type.Name;
        }

        public static void Get(object target, object value, string field) {
            Say("got " + field + " of " + Shown(target) + ": " + Shown(value));
        }

        public static void Getting(object target) {
            Say("gets of " + Shown(target));
        }

        public static void Set(object target, object value, string field, string method) {
            Say("set in " + method + " " + field + " of " + Shown(target) + " to " + Shown(value));
        }

        public static void Typed<T>(T value) {
            Say(typeof(T) + " " + value);
        }

        public static double Instead(object target) {
            Say("instead of " + Shown(target));
            return 44.5;
        }

        public static int Number(object target, string method) {
            Say("a number for " + method + " of " + Shown(target));
            return 99;
        }

        public static void Put(object target, double value, string method) {
            Say("not set to " + value + " in " + method);
        }

        public static bool Flag(object target) {
            Say("flag of " + Shown(target));
            return true;
        }

        public static void Making(object[] arguments, string type, string method, string signature) {
            string all = "";
            foreach (object argument in arguments) {
                all += " " + Shown(argument);
            }
            Say("makes " + type + method + signature + all);
        }

        public static void Made(object first, object made) {
            Say("made of " + Shown(first) + ": " + Shown(made));
        }

        public static StringBuilder Builder(string text) {
            Say("builder of " + text);
            return new StringBuilder("<" + text + ">");
        }

        public static TimeSpan Span(int hours, int minutes, int seconds) {
            Say("span of " + hours);
            return TimeSpan.FromSeconds(hours);
        }

        public static void Thrown(Exception exception, string method, string type) {
            Say("throws " + exception.GetType().Name + " in " + type + "." + method);
        }

        public static void Io(IOException exception) {
            Say("throws input or output: " + exception.Message);
        }

        public static void Caught(Exception exception, object self) {
            Say("caught " + exception.GetType().Name + " " + Shown(self));
        }

        public static void Invalid(InvalidOperationException exception) {
            Say("caught an invalid one: " + exception.Message);
        }

        public static void Own(object self, string value) {
            Say(Shown(self) + " sets " + value);
        }

        public static void Line(int line, int at, string type, string method, string signature) {
            Say("line " + (line == at) + " " + type + "." + method + signature);
        }

        public static void Bad() {
            throw new InvalidOperationException("bad");
        }
    }
}
