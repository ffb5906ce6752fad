using System.Collections;
using System.Collections.Generic;

namespace Weave.Runtime
{
    /// <summary>What decides a span's parent and links beside its flow's context: the headers that came in, and contexts that were given with objects.</summary>
    internal sealed class Origin
    {
        /// <summary>A span has so many links at most.</summary>
        internal const int MostLinks = 128;
        /// <summary>Of a batch so many objects are looked at.</summary>
        private const int MostObjects = 1024;

        /// <summary>The headers that came in, for <see cref="Propagators"/>; null where they are a link, or none came.</summary>
        internal readonly object Came;
        /// <summary>Its parent, or null.</summary>
        internal readonly Span Given;
        /// <summary>Its links, each as a value of the trace has it.</summary>
        internal readonly List<string> All;

        private Origin(object came, Span given, List<string> links)
        {
            Came = came;
            Given = given;
            All = links;
        }

        /// <summary>What came in is a link.</summary>
        internal static object Link(object came)
        {
            Parent parent = came == null ? null : Propagators.Set.Parent(came);
            if (parent == null)
            {
                return null;
            }
            var origin = new Origin(null, null, new List<string>());
            origin.All.Add(Span.Link(parent.Traceparent(), parent.State));
            return origin;
        }

        /// <summary>What was given with an object is the parent.</summary>
        internal static object Below(object came, Span given)
        {
            return given == null ? came : new Origin(came, given, new List<string>());
        }

        /// <summary>What was given with an object is a link; of a collection or an array, what was given with each of its elements.</summary>
        internal static object Links(object came, object o)
        {
            var before = came as Origin;
            var origin = new Origin(before == null ? came : before.Came, null, before == null ? new List<string>() : before.All);
            // What is only counted when it is walked through may be a program's query.
            if (!origin.Add(o) && (o is ICollection || o is IReadOnlyCollection<object>))
            {
                int left = MostObjects;
                foreach (object one in (IEnumerable)o)
                {
                    if (left-- == 0)
                    {
                        break;
                    }
                    origin.Add(one);
                }
            }
            return origin.All.Count == 0 ? came : origin;
        }

        /// <summary>False where no context was given with the object.</summary>
        private bool Add(object o)
        {
            Span given = Queued.Given(o);
            string link = given == null ? null : Span.Link(given.Traceparent(), given.State);
            if (link != null && All.Count < MostLinks && !All.Contains(link))
            {
                All.Add(link);
            }
            return link != null;
        }
    }
}
