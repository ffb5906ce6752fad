using System.Collections.Generic;
using System.Diagnostics;

namespace Weave.Runtime
{
    /// <summary>
    /// The platform's own way from process to process (ASP.NET Core, HttpClient), by the headers that <c>OTEL_PROPAGATORS</c> names. Where the
    /// setting is not there, nothing of the platform's is changed.
    /// </summary>
    internal sealed class Carriers : DistributedContextPropagator
    {
        private readonly Propagators ours;
        private readonly DistributedContextPropagator before;

        private Carriers(Propagators ours, DistributedContextPropagator before)
        {
            this.ours = ours;
            this.before = before;
        }

        /// <summary>From now on, for what is made from here on: clients and servers ask when they are made.</summary>
        internal static void Use()
        {
            if (Settings.Propagators() != null)
            {
                Current = new Carriers(Propagators.Set, Current);
            }
        }

        public override IReadOnlyCollection<string> Fields
        {
            get
            {
                int count = 0;
                while (ours.Sent(count) != null)
                {
                    count++;
                }
                var all = new string[count];
                for (int i = 0; i < count; i++)
                {
                    all[i] = ours.Sent(i);
                }
                return all;
            }
        }

        public override void Inject(Activity activity, object carrier, PropagatorSetterCallback setter)
        {
            if (activity == null || setter == null || activity.IdFormat != ActivityIdFormat.W3C)
            {
                return;
            }
            for (int i = 0; ours.Sent(i) != null; i++)
            {
                string value = ours.Value(i, activity.Id, activity.TraceStateString, null);
                if (!string.IsNullOrEmpty(value))
                {
                    setter(carrier, ours.Sent(i), value);
                }
            }
            if (ours.Carries)
            {
                // The activity's own, as the platform writes it; not the context, which is written.
                before.Inject(activity, carrier, (to, name, value) =>
                {
                    if (Settings.Is(name, "baggage") || Settings.Is(name, "Correlation-Context"))
                    {
                        setter(to, name, value);
                    }
                });
            }
        }

        public override void ExtractTraceIdAndState(object carrier, PropagatorGetterCallback getter, out string traceId, out string traceState)
        {
            traceId = traceState = null;
            object came = null;
            for (int i = 0; getter != null && ours.Asked(i) != null; i++)
            {
                string value;
                IEnumerable<string> values;
                getter(carrier, ours.Asked(i), out value, out values);
                came = ours.Came(came, i, value ?? First(values));
            }
            Parent parent = ours.Parent(came);
            if (parent != null)
            {
                traceId = parent.Traceparent();
                traceState = parent.State;
            }
        }

        public override IEnumerable<KeyValuePair<string, string>> ExtractBaggage(object carrier, PropagatorGetterCallback getter)
        {
            return ours.Carries ? before.ExtractBaggage(carrier, getter) : null;
        }

        /// <summary>The one that there is: what comes twice is nobody's.</summary>
        private static string First(IEnumerable<string> values)
        {
            string found = null;
            if (values != null)
            {
                foreach (string value in values)
                {
                    if (found != null)
                    {
                        return null;
                    }
                    found = value;
                }
            }
            return found;
        }
    }
}
