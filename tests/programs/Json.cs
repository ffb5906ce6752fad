using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;
using Newtonsoft.Json;
using Newtonsoft.Json.Bson;
using Newtonsoft.Json.Converters;
using Newtonsoft.Json.Linq;
using Newtonsoft.Json.Schema;
using Newtonsoft.Json.Serialization;

/// <summary>Most of what Newtonsoft.Json does, printed.</summary>
public static class Json
{
    public enum Colour { Red, Green }

    public abstract class Shape
    {
        public string Name { get; set; }
        [JsonConverter(typeof(StringEnumConverter))] public Colour Colour { get; set; }
        public abstract double Area { get; }
        public bool ShouldSerializeName() { return Name != "hidden"; }
    }

    public class Square : Shape
    {
        public double Side { get; set; }
        public override double Area { get { return Side * Side; } }
        [JsonExtensionData] public IDictionary<string, JToken> Rest { get; set; }
    }

    public class Ring : Shape
    {
        public Ring Next { get; set; }
        public override double Area { get { return 1; } }
    }

    public struct Pair
    {
        public int? A;
        public DateTime? When { get; set; }
        public KeyValuePair<string, decimal> Both { get; set; }
    }

    public class Made
    {
        public Made(int number, string[] texts) { Number = number; Texts = texts; }
        public int Number { get; private set; }
        public string[] Texts { get; private set; }
    }

    static void Say(object o) { Console.WriteLine(o); }

    static void Fails(Func<object> what)
    {
        try { Say(what()); } catch (Exception e) { Say(e.GetType().Name + ": " + e.Message); }
    }

    public static void Main()
    {
        CultureInfo.DefaultThreadCurrentCulture = CultureInfo.CurrentCulture = CultureInfo.InvariantCulture;
        var typed = new JsonSerializerSettings { TypeNameHandling = TypeNameHandling.Auto, Formatting = Formatting.Indented, NullValueHandling = NullValueHandling.Ignore };
        var shapes = new List<Shape> { new Square { Name = "s", Side = 2, Colour = Colour.Green }, new Ring { Name = "hidden" } };
        string text = JsonConvert.SerializeObject(shapes, typed);
        Say(text);
        Say(JsonConvert.DeserializeObject<List<Shape>>(text, typed).Sum(s => s.Area));
        Say(JsonConvert.DeserializeObject<Square>("{'side':3,'more':[1,{'x':null}],'Colour':'Red'}").Rest["more"]);
        var ring = new Ring { Name = "r" };
        ring.Next = ring;
        Fails(() => JsonConvert.SerializeObject(ring));
        Say(JsonConvert.SerializeObject(ring, new JsonSerializerSettings { PreserveReferencesHandling = PreserveReferencesHandling.All }));
        Say(JsonConvert.SerializeObject(new Pair { A = 1, When = new DateTime(2020, 2, 29, 1, 2, 3, DateTimeKind.Utc), Both = new KeyValuePair<string, decimal>("k", 1.50m) }));
        Say(JsonConvert.DeserializeObject<Made>("{number:7,texts:['a','b']}").Texts[1]);
        Fails(() => JsonConvert.DeserializeObject<Made>("{number:'x'}"));
        Fails(() => JsonConvert.DeserializeObject<int[]>("[1,2"));
        JObject o = JObject.Parse("{'a':[{'b':1,'c':'x'},{'b':2.5,'c':'y'}],'d':{'e':true,'f':null},'g':12345678901234567890}");
        Say(string.Join("|", o.SelectTokens("$.a[?(@.b > 1)].c").Concat(o.SelectTokens("$..e"))));
        o.Merge(JObject.Parse("{'d':{'f':[1]},'h':-0.0}"));
        o["a"][0]["b"].Replace(new JArray(1, "two", 3.0));
        Say(o.ToString(Formatting.None));
        Say(o.DeepClone().Equals(o) + " " + JToken.DeepEquals(o, o.DeepClone()) + " " + ((JValue)o["g"]).Value);
        Say(string.Join(",", o.Descendants().OfType<JProperty>().Select(p => p.Path)));
        dynamic d = o;
        Say(d.d.e + " " + d.a[1].c);
        var names = new JsonSerializerSettings { ContractResolver = new CamelCasePropertyNamesContractResolver(), DateFormatString = "yyyy" };
        Say(JsonConvert.SerializeObject(new { TheName = "x", When = new DateTime(1999, 1, 1), Deep = new { InnerOne = new[] { 1L, 2L } }, Bytes = new byte[] { 1, 2 }, Guid = Guid.Empty, Span = TimeSpan.FromMinutes(3) }, names));
        Say(JsonConvert.DeserializeAnonymousType("{a:1,b:['x']}", new { a = 0, b = new string[0] }).b[0]);
        Say(JsonConvert.DeserializeXmlNode("{'r':{'@x':'1','y':['a','b']}}").OuterXml);
        using (var reader = new JsonTextReader(new StringReader("// c\n{'a':[1,2.5,'s',true,null,undefined,NaN,0x1F]} [3]")) { SupportMultipleContent = true })
        {
            while (reader.Read()) { Say(reader.TokenType + " " + reader.Value + " " + reader.Path + " " + reader.LineNumber + ":" + reader.LinePosition); }
        }
        var memory = new MemoryStream();
#pragma warning disable 618
        using (var writer = new BsonWriter(memory)) { new JsonSerializer().Serialize(writer, new { a = 1, b = "x", c = new[] { 1.5 } }); }
        Say(Convert.ToBase64String(memory.ToArray()));
        Say(JToken.ReadFrom(new BsonReader(new MemoryStream(memory.ToArray()))).ToString(Formatting.None));
        Say(new JsonSchemaGenerator().Generate(typeof(Pair)).ToString());
        IList<string> wrong;
        Say(JObject.Parse("{'a':'x'}").IsValid(JsonSchema.Parse("{'type':'object','properties':{'a':{'type':'integer'}}}"), out wrong) + " " + wrong[0]);
#pragma warning restore 618
        var trace = new MemoryTraceWriter { LevelFilter = System.Diagnostics.TraceLevel.Verbose };
        JsonConvert.DeserializeObject<Dictionary<string, Pair>>("{'k':{'A':null}}", new JsonSerializerSettings { TraceWriter = trace });
        Say(trace.GetTraceMessages().Count());
        var errors = new List<string>();
        JsonConvert.DeserializeObject<List<DateTime>>("['2009-09-09','no',[1],null]", new JsonSerializerSettings { Error = (s, e) => { errors.Add(e.ErrorContext.Path); e.ErrorContext.Handled = true; } });
        Say(string.Join(",", errors));
        Say(o.ToObject<JObject>().GetValue("D", StringComparison.OrdinalIgnoreCase).ToString(Formatting.None, new StringEnumConverter()));
        Say(JObject.Load(new JTokenReader(o)).Count + JArray.FromObject(Enumerable.Range(0, 5)).Values<int>().Sum());
        var task = JObject.LoadAsync(new JsonTextReader(new StringReader("{'async':[1,2,3]}")));
        Say(task.Result.ToString(Formatting.None));
    }
}
