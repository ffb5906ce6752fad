using System;
using System.Collections;
using System.Diagnostics;

namespace Weave.Runtime
{
    /// <summary>The ids of the current context beside what the program has put into its loggers' context.</summary>
    [DebuggerStepThrough]
    public static class Logs
    {
        /// <summary>
        /// Puts the ids into the properties of an event of log4net, where it has none under these names: <c>traceId</c> and so on is what it has.
        /// </summary>
        public static void Add(object properties, object traceId, object spanId, object traceFlags)
        {
            try
            {
                Span span = Spans.Current;
                var all = properties as IDictionary;
                if (span == null || all == null)
                {
                    return;
                }
                string told = span.Traceparent();
                Put(all, "trace_id", traceId, told.Substring(3, 32));
                Put(all, "span_id", spanId, told.Substring(36, 16));
                Put(all, "trace_flags", traceFlags, told.Substring(53, 2));
            }
            catch (Exception)
            {
                Recorder.Fails();
            }
        }

        private static void Put(IDictionary all, string name, object known, string id)
        {
            if (known == null)
            {
                all[name] = id;
            }
        }
    }
}
