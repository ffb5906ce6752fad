using System;
using System.Threading.Tasks;

namespace App
{
    public class Request
    {
        public string Path { get; set; }

        public string Verb
        {
            get { return "GET"; }
        }
    }

    public class Response
    {
        public int Status { get; set; }
    }

    public static class Router
    {
        public static string Route(Request request)
        {
            return request.Path.Substring(0, request.Path.LastIndexOf('/')) + "/{id}";
        }
    }

    /// <summary>A driver that has what its pool has as well.</summary>
    public class Driver
    {
        public virtual int Query(string sql)
        {
            return sql.Length;
        }
    }

    public class Pool : Driver
    {
        private readonly Driver driver = new Driver();

        public override int Query(string sql)
        {
            if (sql.Contains("broken"))
            {
                throw new ArgumentException("no such table");
            }
            return driver.Query(sql);
        }
    }

    public class Server
    {
        private readonly Driver db = new Pool();

        public void Service(Request request, Response response)
        {
            Router.Route(request);
            try
            {
                db.Query("SELECT " + request.Path.Split('/')[1]);
                response.Status = 200;
            }
            catch (ArgumentException)
            {
                response.Status = 500;
            }
        }

        public async Task<int> Later(Request request)
        {
            await Task.Delay(1);
            int found = db.Query("SELECT later");
            await Task.Delay(1);
            return found;
        }
    }

    public static class Program
    {
        public static void Main()
        {
            Server server = new Server();
            foreach (string path in new[] { "/plain/7", "/broken/7" })
            {
                Response response = new Response();
                server.Service(new Request { Path = path }, response);
                Console.WriteLine(path + " " + response.Status);
            }
            Console.WriteLine(server.Later(new Request { Path = "/later/7" }).Result);
        }
    }
}
