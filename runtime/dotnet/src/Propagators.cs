using System;
using System.Collections.Generic;

namespace Weave.Runtime
{
    /// <summary>
    /// By which headers contexts come in and go out, as <c>OTEL_PROPAGATORS</c> says. All that are named are read, in this order, and the last that
    /// brings a context holds; all are sent.
    /// </summary>
    internal sealed class Propagators
    {
        private const int Traceparent = 0;
        private const int Tracestate = 1;
        private const int Baggage = 2;
        private const int B3 = 3;
        private const int B3Trace = 4;
        private const int B3Span = 5;
        private const int B3Sampled = 6;
        private const int B3Flags = 7;
        private const int Jaeger = 8;
        private const int Xray = 9;

        /// <summary>So many are asked for, or sent, at most: woven code has as many places.</summary>
        private static readonly string[] Headers =
        {
            "traceparent", "tracestate", "baggage", "b3", "X-B3-TraceId", "X-B3-SpanId", "X-B3-Sampled", "X-B3-Flags", "uber-trace-id",
            "X-Amzn-Trace-Id",
        };
        private static readonly string[] Names = { "tracecontext", "baggage", "b3", "b3multi", "jaeger", "xray" };
        /// <summary>The headers that each asks for, and those that it sends. Whoever sends one form of B3 reads both.</summary>
        private static readonly int[][] Read =
        {
            new[] { Traceparent, Tracestate }, new[] { Baggage }, new[] { B3, B3Trace, B3Span, B3Sampled, B3Flags },
            new[] { B3, B3Trace, B3Span, B3Sampled, B3Flags }, new[] { Jaeger }, new[] { Xray },
        };
        private static readonly int[][] Written =
        {
            new[] { Traceparent, Tracestate }, new[] { Baggage }, new[] { B3 }, new[] { B3Trace, B3Span, B3Sampled }, new[] { Jaeger }, new[] { Xray },
        };
        private const string Default = "tracecontext,baggage";

        private static Propagators set;

        /// <summary>What makes no sense in the setting, as a sentence, or null.</summary>
        internal readonly string Complaint;
        private readonly List<int> order = new List<int>();
        private readonly List<int> asked = new List<int>();
        private readonly List<int> sent = new List<int>();

        internal Propagators(string setting)
        {
            string wrong = null;
            foreach (string one in (setting ?? Default).Split(','))
            {
                string name = one.Trim();
                int which = -1;
                for (int i = 0; i < Names.Length; i++)
                {
                    which = Settings.Is(name, Names[i]) ? i : which;
                }
                if (which < 0)
                {
                    wrong = wrong != null || name.Length == 0 || Settings.Is(name, "none") ? wrong : name;
                }
                else if (!Has(order, which))
                {
                    order.Add(which);
                    More(asked, Read[which]);
                    More(sent, Written[which]);
                }
            }
            Complaint = wrong == null ? null
                : "OTEL_PROPAGATORS: \"" + wrong + "\" is not tracecontext, baggage, b3, b3multi, jaeger, xray or none; it is left out";
        }

        /// <summary>Those of this process.</summary>
        internal static Propagators Set
        {
            get { return set = set ?? new Propagators(Settings.Propagators()); }
        }

        private static bool Has(List<int> all, int one)
        {
            bool has = false;
            for (int i = 0; i < all.Count; i++)
            {
                has |= all[i] == one;
            }
            return has;
        }

        private static void More(List<int> all, int[] some)
        {
            foreach (int one in some)
            {
                if (!Has(all, one))
                {
                    all.Add(one);
                }
            }
        }

        /// <summary>Whether baggage goes on.</summary>
        internal bool Carries
        {
            get { return Has(sent, Baggage); }
        }

        /// <summary>The header that is asked for as this one, or null.</summary>
        internal string Asked(int which)
        {
            return which < asked.Count ? Headers[asked[which]] : null;
        }

        /// <summary>The header that is sent as this one, or null.</summary>
        internal string Sent(int which)
        {
            return which < sent.Count ? Headers[sent[which]] : null;
        }

        /// <summary>The headers that have come in, with this one more; <paramref name="before"/> is null, or what this has given.</summary>
        internal string[] Came(object before, int which, string value)
        {
            var all = before as string[];
            if (value != null && which < asked.Count)
            {
                all = all ?? new string[Headers.Length];
                all[asked[which]] = value;
            }
            return all;
        }

        /// <summary>The context that these headers bring, or null.</summary>
        internal Parent Parent(object came)
        {
            var all = came as string[];
            Parent found = null;
            bool carries = false;
            for (int i = 0; all != null && i < order.Count; i++)
            {
                Parent next = null;
                switch (Names[order[i]])
                {
                    case "tracecontext":
                        next = Runtime.Parent.Of(all[Traceparent], all[Tracestate]);
                        break;
                    case "baggage":
                        carries = true;
                        break;
                    case "jaeger":
                        next = Runtime.Parent.OfJaeger(all[Jaeger]);
                        break;
                    case "xray":
                        next = Runtime.Parent.OfXray(all[Xray]);
                        break;
                    default:
                        next = Runtime.Parent.OfB3(all[B3]) ?? Runtime.Parent.OfB3(all[B3Trace], all[B3Span], all[B3Sampled], all[B3Flags]);
                        break;
                }
                found = next ?? found;
            }
            return found == null || !carries ? found : found.With(all[Baggage]);
        }

        /// <summary>What the header says that is sent as this one; null where that is nothing.</summary>
        internal string Value(int which, Span span)
        {
            return which < sent.Count ? Value(which, span.Traceparent(), span.State, span.Baggage) : null;
        }

        /// <summary>The same of a context that W3C would write so.</summary>
        internal string Value(int which, string parent, string state, string baggage)
        {
            string trace = parent.Substring(3, 32);
            string id = parent.Substring(36, 16);
            string sampled = "13579bdf".IndexOf(parent[54]) >= 0 ? "1" : "0"; // the last bit of the flags
            switch (sent[which])
            {
                case Traceparent:
                    return parent;
                case Tracestate:
                    return state;
                case Baggage:
                    return baggage;
                case B3:
                    return trace + "-" + id + "-" + sampled;
                case B3Trace:
                    return trace;
                case B3Span:
                    return id;
                case B3Sampled:
                    return sampled;
                case Jaeger:
                    return trace + ":" + id + ":0:" + sampled;
                default:
                    return "Root=1-" + trace.Substring(0, 8) + "-" + trace.Substring(8) + ";Parent=" + id + ";Sampled=" + sampled;
            }
        }
    }
}
