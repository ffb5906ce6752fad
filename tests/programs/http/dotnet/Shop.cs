using System;
using System.Net.Http;
using System.Threading;
using System.Threading.Tasks;

/// Requests by HttpClient; each path is one's own.
public static class Shop
{
    /// <summary>A request that is answered when another one has been: behind the first mark, and in front of the second.</summary>
    private static async Task Held(HttpClient client, string start)
    {
        Task<string> held = client.GetStringAsync(start + "/held");
        Mark("given, complete: " + held.IsCompleted);
        Console.WriteLine(await client.GetStringAsync(start + "/release"));
        Console.WriteLine(await held);
        Mark("answered");
        using CancellationTokenSource source = new CancellationTokenSource();
        Task<HttpResponseMessage> cancelled = client.GetAsync(start + "/never", source.Token);
        Mark("to be cancelled, complete: " + cancelled.IsCompleted);
        source.Cancel();
        try
        {
            await cancelled;
        }
        catch (TaskCanceledException)
        {
            Mark("cancelled");
        }
        try
        {
            await client.GetStringAsync(start + "/missing?token=s3cret");
        }
        catch (HttpRequestException failure)
        {
            Mark("failed: " + failure.StatusCode);
        }
        await Values.Given(true, Task.FromResult(1));
        _ = Values.Given(false, new TaskCompletionSource<int>().Task);
        Mark("value tasks");
    }

    private static void Mark(string text)
    {
        Console.WriteLine(text);
    }

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
        await Held(client, start);
        using HttpClient relative = new HttpClient { BaseAddress = new Uri(start) };
        Console.WriteLine(await relative.GetStringAsync("relative?token=s3cret"));
    }
}

/// Tasks of the other kind, complete and never so.
public static class Values
{
    public static ValueTask<int> Given(bool complete, Task<int> task)
    {
        return new ValueTask<int>(task);
    }
}
