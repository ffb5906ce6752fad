using System;

namespace app
{
    /// What values are made of.
    public class Language
    {
        internal class Inner
        {
            internal readonly string name;

            internal Inner(string name) { this.name = name; }

            internal int twice() { return 2 * name.Length; }
        }

        public struct Size
        {
            private readonly int size;

            internal Size(int size) { this.size = size; }
        }

        /// What Java has as methods are private members of structs here.
        public struct Point
        {
            private readonly string text;

            internal Point(string text) { this.text = text; }

            private Size twice() { return new Size(text == null ? 0 : 2 * text.Length); }
        }

        public class Request
        {
            private readonly Point point;
            public readonly int number;
            internal readonly Inner inner;
            internal string hidden;
            private readonly string ownPath;
            private readonly Request ownPeer;

            public Request(int number, string path, Request peer)
            {
                this.number = number;
                ownPath = path;
                ownPeer = peer;
                point = new Point(path);
                inner = path == null ? null : new Inner(path);
                hidden = "hidden" + number;
            }

            public string path() { return ownPath; }

            public Request peer() { return ownPeer; }

            public string[] tags() { return ownPath == null ? null : new string[number]; }

            public Request self() { return this; }

            public int port() { return 8000 + number; }

            public string header(string name)
            {
                if (name == "x") return null;
                return name == "none" ? null : name + number;
            }

            public string part(int n) { return ownPath == null ? null : ownPath.Substring(n); }

            public string part(long n, bool first, double ratio, string text)
            {
                return n + " " + (first ? "true" : "false") + " " + (int)(2 * ratio) + " " + (text == null ? "true" : "false");
            }

            public object attribute(object name, object value) { return name + "=" + value; }

            internal string near() { return "near" + number; }

            public override string ToString() { return "request " + number; }
        }

        public class Special : Request
        {
            public Special(int number, string path, Request peer) : base(number, path, peer) { }

            public string extra() { return "extra" + number; }
        }

        public class Response
        {
            internal int current;

            public int status() { return current; }

            public string text() { return "status " + current; }
        }

        static string serve(Request request, Response response, bool fail)
        {
            response.current = fail ? 500 : 200;
            request.hidden = "gone";
            if (fail) throw new InvalidOperationException("failed");
            return request.path() == null ? null : request.path() + request.path();
        }

        static T pass<T>(T item) { return item; }

        public static void Main()
        {
            Request request = new Request(1, "/a", null);
            Console.WriteLine(serve(request, new Response(), false));
            try
            {
                serve(new Special(2, "/bc", request), new Response(), true);
            }
            catch (InvalidOperationException e)
            {
                Console.WriteLine(e.Message);
            }
            Console.WriteLine(serve(new Request(3, null, request), new Response(), false) ?? "null");
            Console.WriteLine(serve(new Special(4, "/d", null), new Response(), false));
            Console.WriteLine(pass("text") + pass(request) + pass(5) + (pass<string>(null) ?? "null"));
        }
    }
}
