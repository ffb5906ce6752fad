using System.Collections.Generic;

namespace System.Diagnostics
{
    public enum ActivityKind { Internal = 0, Server = 1, Client = 2, Producer = 3, Consumer = 4 }

    public enum ActivityStatusCode { Unset = 0, Ok = 1, Error = 2 }

    public enum ActivitySamplingResult { None = 0, PropagationData = 1, AllData = 2, AllDataAndRecorded = 3 }

    public struct ActivityContext
    {
        public ActivityTraceId TraceId { get { throw null; } }
        public ActivitySpanId SpanId { get { throw null; } }
        public ActivityTraceFlags TraceFlags { get { throw null; } }
        public string TraceState { get { throw null; } }
        public bool IsRemote { get { throw null; } }
    }

    public struct ActivityCreationOptions<T>
    {
        public ActivityTraceId TraceId { get { throw null; } }
        public T Parent { get { throw null; } }
    }

    public delegate ActivitySamplingResult SampleActivity<T>(ref ActivityCreationOptions<T> options);

    public abstract class DistributedContextPropagator
    {
        protected DistributedContextPropagator() { }
        public static DistributedContextPropagator Current { get { throw null; } set { } }
        public abstract IReadOnlyCollection<string> Fields { get; }
        public delegate void PropagatorGetterCallback(object carrier, string fieldName, out string fieldValue, out IEnumerable<string> fieldValues);
        public delegate void PropagatorSetterCallback(object carrier, string fieldName, string fieldValue);
        public abstract void Inject(Activity activity, object carrier, PropagatorSetterCallback setter);
        public abstract void ExtractTraceIdAndState(object carrier, PropagatorGetterCallback getter, out string traceId, out string traceState);
        public abstract IEnumerable<KeyValuePair<string, string>> ExtractBaggage(object carrier, PropagatorGetterCallback getter);
    }

    public sealed class ActivityListener
    {
        public ActivityListener() { }
        public Action<Activity> ActivityStarted { get { throw null; } set { } }
        public Action<Activity> ActivityStopped { get { throw null; } set { } }
        public Func<ActivitySource, bool> ShouldListenTo { get { throw null; } set { } }
        public SampleActivity<string> SampleUsingParentId { get { throw null; } set { } }
        public SampleActivity<ActivityContext> Sample { get { throw null; } set { } }
    }

    public struct ActivityEvent
    {
        public string Name { get { throw null; } }
        public IEnumerable<KeyValuePair<string, object>> Tags { get { throw null; } }
    }

    public struct ActivityLink
    {
        public ActivityContext Context { get { throw null; } }
    }

    public enum ActivityIdFormat { Unknown = 0, Hierarchical = 1, W3C = 2 }

    public enum ActivityTraceFlags { None = 0, Recorded = 1 }

    public struct ActivityTraceId
    {
        public void CopyTo(Span<byte> destination) { }
        public static ActivityTraceId CreateFromBytes(ReadOnlySpan<byte> idData) { throw null; }
        public static bool operator ==(ActivityTraceId one, ActivityTraceId other) { throw null; }
        public static bool operator !=(ActivityTraceId one, ActivityTraceId other) { throw null; }
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
        public static void AddActivityListener(ActivityListener listener) { }
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
        public string DisplayName { get { throw null; } set { } }
        public string OperationName { get { throw null; } }
        public ActivityKind Kind { get { throw null; } }
        public ActivityStatusCode Status { get { throw null; } }
        public string Id { get { throw null; } }
        public IEnumerable<KeyValuePair<string, object>> TagObjects { get { throw null; } }
        public IEnumerable<ActivityEvent> Events { get { throw null; } }
        public IEnumerable<ActivityLink> Links { get { throw null; } }
        public object GetCustomProperty(string propertyName) { throw null; }
        public void SetCustomProperty(string propertyName, object propertyValue) { }
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

namespace System.Diagnostics.Metrics
{
    public abstract class Instrument
    {
        public string Name { get { throw null; } }
    }

    public delegate void MeasurementCallback<T>(Instrument instrument, T measurement, ReadOnlySpan<KeyValuePair<string, object>> tags, object state) where T : struct;

    public sealed class MeterListener
    {
        public MeterListener() { }
        public Action<Instrument, MeterListener> InstrumentPublished { get { throw null; } set { } }
        public void EnableMeasurementEvents(Instrument instrument, object state = null) { }
        public void SetMeasurementEventCallback<T>(MeasurementCallback<T> measurementCallback) where T : struct { }
        public void Start() { }
    }
}
