using System.Diagnostics;
using Microsoft.AspNetCore.Mvc;

var builder = WebApplication.CreateBuilder(args);
builder.Logging.ClearProviders();
builder.Services.AddControllers();
var app = builder.Build();
app.MapControllers();
app.Lifetime.ApplicationStarted.Register(() => Console.WriteLine("listening at " + app.Urls.First()));
app.Run();
Console.WriteLine($"stopwatch: {ForecastsController.Calls:N0} calls of the endpoint, mean {Stopwatch.GetElapsedTime(0, ForecastsController.Ticks).TotalNanoseconds / Math.Max(1, ForecastsController.Calls):N0} ns");

public record Forecast(DateOnly Date, int Celsius, string Summary);

[ApiController]
[Route("[controller]")]
public class ForecastsController : ControllerBase
{
    static readonly string[] Summaries = ["freezing", "chilly", "mild", "warm", "hot"];

    public static long Calls, Ticks;

    [HttpGet]
    public IEnumerable<Forecast> Get(int days = 5)
    {
        long begin = Stopwatch.GetTimestamp();
        var forecasts = Enumerable.Range(1, days).Select(Forecast).ToArray();
        Interlocked.Add(ref Ticks, Stopwatch.GetTimestamp() - begin);
        Interlocked.Increment(ref Calls);
        return forecasts;
    }

    static Forecast Forecast(int day) => new(new DateOnly(2026, 1, day), day * 7 % 40, Summaries[day % Summaries.Length]);
}
