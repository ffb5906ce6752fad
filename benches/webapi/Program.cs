using Microsoft.AspNetCore.Mvc;

var builder = WebApplication.CreateBuilder(args);
builder.Logging.ClearProviders();
builder.Services.AddControllers();
var app = builder.Build();
app.MapControllers();
app.Lifetime.ApplicationStarted.Register(() => Console.WriteLine("listening at " + app.Urls.First()));
app.Run();

public record Forecast(DateOnly Date, int Celsius, string Summary);

[ApiController]
[Route("[controller]")]
public class ForecastsController : ControllerBase
{
    static readonly string[] Summaries = ["freezing", "chilly", "mild", "warm", "hot"];

    [HttpGet]
    public IEnumerable<Forecast> Get(int days = 5) =>
        Enumerable.Range(1, days).Select(day => new Forecast(new DateOnly(2026, 1, day), day * 7 % 40, Summaries[day % Summaries.Length])).ToArray();
}
