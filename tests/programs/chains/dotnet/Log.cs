using System;

namespace acme
{
    public static class Log
    {
        private static string Shown(string text) { return text ?? "null"; }

        public static string begin(string name, long id, int age)
        {
            Console.WriteLine("begin " + Shown(name) + " " + id + " " + age);
            return name;
        }

        public static void end(string state, int length, string name)
        {
            Console.WriteLine("end " + Shown(state) + " " + length + " " + Shown(name));
        }

        public static void failed(string message)
        {
            Console.WriteLine("failed " + message);
        }
    }
}
