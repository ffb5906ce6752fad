namespace Weave.Runtime
{
    /// <summary>
    /// Which traces are recorded, as <c>OTEL_TRACES_SAMPLER</c> and <c>OTEL_TRACES_SAMPLER_ARG</c> say. The trace's id decides about those that begin
    /// here, so that all services that draw so come to the same; about those that came in their sender, unless the setting says otherwise.
    /// </summary>
    internal sealed class Sampler
    {
        private const long Range = 1L << 56;
        private const string ParentBased = "parentbased_";

        private static Sampler set;

        /// <summary>What makes no sense in the setting, as a sentence, or null.</summary>
        internal readonly string Complaint;
        private readonly bool byParent;
        /// <summary>Traces are recorded whose last 56 bits are no less.</summary>
        private readonly long threshold;
        /// <summary>What is sent on, so that others know the share (OpenTelemetry's probability sampling); or null.</summary>
        private readonly string state;

        internal Sampler(string setting, string argument)
        {
            string said = setting ?? ParentBased + "always_on";
            bool isBased = said.Length > ParentBased.Length && Settings.Is(said.Substring(0, ParentBased.Length), ParentBased);
            string own = isBased ? said.Substring(ParentBased.Length) : said;
            bool isRatio = Settings.Is(own, "traceidratio");
            bool isOff = Settings.Is(own, "always_off");
            bool isKnown = isRatio || isOff || Settings.Is(own, "always_on");
            double ratio = !isRatio || argument == null ? 1 : Ratio(argument);
            Complaint = !isKnown ? "OTEL_TRACES_SAMPLER: \"" + setting + "\" is not always_on, always_off or traceidratio, nor parentbased_ and one of "
                    + "these; parentbased_always_on is used"
                : ratio < 0 ? "OTEL_TRACES_SAMPLER_ARG: \"" + argument + "\" is not a number from 0 to 1; 1 is used" : null;
            byParent = !isKnown || isBased;
            threshold = isOff ? Range : ratio < 0 ? 0 : Range - (long)(ratio * Range);
            state = threshold == 0 || threshold == Range ? null : "ot=th:" + Digits(threshold);
        }

        /// <summary>That of this process.</summary>
        internal static Sampler Set
        {
            get { return set = set ?? new Sampler(Settings.Sampler(), Settings.SamplerArgument()); }
        }

        /// <summary>A number from 0 to 1 as it is usually written, else -1.</summary>
        private static double Ratio(string text)
        {
            double number = 0;
            double unit = 0;
            for (int i = 0; i < text.Length; i++)
            {
                char c = text[i];
                if (c == '.' ? unit != 0 : c < '0' || c > '9')
                {
                    return -1;
                }
                number = c == '.' ? number : unit == 0 ? number * 10 + (c - '0') : number + (c - '0') * unit;
                unit = c == '.' ? 0.1 : unit / 10;
            }
            return number > 1 ? -1 : number;
        }

        /// <summary>56 bits in hexadecimal digits, without the zeros at their end.</summary>
        private static string Digits(long number)
        {
            string all = "";
            for (long rest = number; rest != 0; rest = rest << 4 & Range - 1)
            {
                all += "0123456789abcdef".Substring((int)(rest >> 52), 1);
            }
            return all;
        }

        /// <summary>Whether traces that begin are to be asked about.</summary>
        internal bool Draws
        {
            get { return threshold != 0; }
        }

        internal bool ByParent
        {
            get { return byParent; }
        }

        internal bool Takes(long traceLow)
        {
            return (traceLow & Range - 1) >= threshold;
        }

        /// <summary>What a trace that begins with these ids is below.</summary>
        internal Parent Root(Ids ids)
        {
            bool taken = Takes(ids.TraceLow);
            return new Parent(ids.TraceHigh, ids.TraceLow, 0, Span.Random | (taken ? Span.Sampled : 0), taken ? state : null, null);
        }

        /// <summary>What came in, with what is decided about it.</summary>
        internal Parent Decided(Parent from)
        {
            return byParent || from == null ? from : from.With(Takes(from.TraceLow));
        }
    }
}
