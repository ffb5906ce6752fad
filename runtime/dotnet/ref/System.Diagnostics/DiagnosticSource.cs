namespace System.Diagnostics
{
    public enum ActivityIdFormat { Unknown = 0, Hierarchical = 1, W3C = 2 }

    public enum ActivityTraceFlags { None = 0, Recorded = 1 }

    public struct ActivityTraceId
    {
        public void CopyTo(Span<byte> destination) { }
        public static ActivityTraceId CreateFromBytes(ReadOnlySpan<byte> idData) { throw null; }
    }

    public struct ActivitySpanId
    {
        public void CopyTo(Span<byte> destination) { }
        public static ActivitySpanId CreateFromBytes(ReadOnlySpan<byte> idData) { throw null; }
        public static bool operator ==(ActivitySpanId one, ActivitySpanId other) { throw null; }
        public static bool operator !=(ActivitySpanId one, ActivitySpanId other) { throw null; }
    }

    public sealed class ActivitySource
    {
        internal ActivitySource() { }
        public string Name { get { throw null; } }
        public bool HasListeners() { throw null; }
    }

    public class Activity
    {
        public Activity(string operationName) { }
        public static Activity Current { get { throw null; } set { } }
        public Activity Parent { get { throw null; } }
        public ActivitySource Source { get { throw null; } }
        public ActivityIdFormat IdFormat { get { throw null; } }
        public ActivityTraceId TraceId { get { throw null; } }
        public ActivitySpanId SpanId { get { throw null; } }
        public ActivitySpanId ParentSpanId { get { throw null; } }
        public ActivityTraceFlags ActivityTraceFlags { get { throw null; } set { } }
        public bool Recorded { get { throw null; } }
        public bool IsStopped { get { throw null; } }
        public string TraceStateString { get { throw null; } set { } }
        public Activity SetIdFormat(ActivityIdFormat format) { throw null; }
        public Activity SetParentId(ActivityTraceId traceId, ActivitySpanId spanId, ActivityTraceFlags activityTraceFlags = ActivityTraceFlags.None) { throw null; }
        public Activity Start() { throw null; }
        public void Stop() { }
    }
}
