using System;
using System.Net.Http;
using System.Threading;
using System.Threading.Tasks;

/// Requests by HttpClient; each path is one's own.
public static class Shop
{
    public static async Task Main(string[] args)
    {
        string start = "http://127.0.0.1:" + args[0];
        using HttpClient client = new HttpClient();
        for (int i = 0; i < 3; i++)
        {
            Console.WriteLine(await client.GetStringAsync(start + "/string?token=s3cret"));
        }
        using (HttpResponseMessage answer = await client.GetAsync(new Uri(start + "/uri?token=s3cret"), CancellationToken.None))
        {
            Console.WriteLine(answer.StatusCode);
        }
        using (HttpResponseMessage answer = await client.PostAsync(start + "/post", new StringContent("x")))
        {
            Console.WriteLine(answer.StatusCode);
        }
        using (HttpRequestMessage request = new HttpRequestMessage(HttpMethod.Put, start + "/put?token=s3cret"))
        using (HttpResponseMessage answer = await client.SendAsync(request))
        {
            Console.WriteLine(answer.StatusCode);
        }
        using (HttpRequestMessage request = new HttpRequestMessage(HttpMethod.Get, start + "/missing"))
        using (HttpResponseMessage answer = client.Send(request))
        {
            Console.WriteLine(answer.StatusCode);
        }
        using HttpClient relative = new HttpClient { BaseAddress = new Uri(start) };
        Console.WriteLine(await relative.GetStringAsync("relative?token=s3cret"));
    }
}
