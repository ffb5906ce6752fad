using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Diagnostics.Metrics;
using System.Threading;

namespace Weave.Runtime
{
    /// <summary>Spans that libraries make themselves: the activities of the sources that rules name.</summary>
    public static class Activities
    {
        private const string Property = "weave";
        private const string AspNet = "Microsoft.AspNetCore";
        private const int Limit = 1000;

        /// <summary>What is known of an activity that runs.</summary>
        private sealed class Open
        {
            internal Span Span;
            internal long Call;
            /// <summary>What its meter has told: a request's route, status and error.</summary>
            internal KeyValuePair<string, object>[] Told;
        }

        /// <summary>What one rule wants to hear, and those before it: nobody is heard twice.</summary>
        private sealed class Sources
        {
            private readonly string[] names;
            private readonly Sources before;

            internal Sources(string[] names, Sources before)
            {
                this.names = names;
                this.before = before;
            }

            internal bool IsFirst
            {
                get { return before == null; }
            }

            internal bool Hears(ActivitySource source)
            {
                return Wants(source.Name) && (before == null || !before.HearsAny(source.Name));
            }

            private bool HearsAny(string name)
            {
                return Wants(name) || before != null && before.HearsAny(name);
            }

            internal bool Wants(string name)
            {
                bool wants = false;
                for (int i = 0; i < names.Length; i++)
                {
                    string one = names[i];
                    bool isNot = one.StartsWith("!", StringComparison.Ordinal);
                    string pattern = isNot ? one.Substring(1) : one;
                    bool fits = pattern.EndsWith("*", StringComparison.Ordinal)
                        ? name.StartsWith(pattern.Substring(0, pattern.Length - 1), StringComparison.Ordinal)
                        : name == pattern;
                    if (fits && isNot)
                    {
                        return false;
                    }
                    wants |= fits;
                }
                return wants;
            }
        }

        private static readonly object TheGate = new object();
        private static Sources last;
        private static string known = "\n";
        private static bool decides;

        /// <summary>From now on the activities of these sources are in the trace: names with commas between, in front of those that are not <c>!</c>.</summary>
        public static void Listen(string sources)
        {
            if (!Switch.On || sources == null)
            {
                return;
            }
            Sources heard;
            lock (TheGate)
            {
                if (known.Contains("\n" + sources + "\n"))
                {
                    return;
                }
                known += sources + "\n";
                last = heard = new Sources(sources.Split(','), last);
            }
            Lane lane = Recorder.Mute();
            try
            {
                decides = !HasSdk();
                if (decides && heard.IsFirst)
                {
                    Carriers.Use();
                }
                if (heard.Wants(AspNet))
                {
                    AppContext.SetSwitch("Microsoft.AspNetCore.Hosting.SuppressActivityOpenTelemetryData", false);
                    var meters = new MeterListener { InstrumentPublished = Published };
                    meters.SetMeasurementEventCallback<double>(Measured);
                    meters.Start();
                }
                ActivitySource.AddActivityListener(new ActivityListener
                {
                    ShouldListenTo = heard.Hears,
                    Sample = Sampled,
                    SampleUsingParentId = SampledById,
                    ActivityStarted = Started,
                    ActivityStopped = Stopped,
                });
            }
            catch (Exception)
            {
                Recorder.Fails();
            }
            finally
            {
                Recorder.Restore(lane);
            }
        }

        /// <summary>A program with OpenTelemetry's SDK decides itself what is recorded.</summary>
        private static bool HasSdk()
        {
            try
            {
                return Type.GetType("OpenTelemetry.Sdk, OpenTelemetry", false) != null;
            }
            catch (Exception)
            {
                return false; // it cannot be loaded
            }
        }

        private static ActivitySamplingResult Sampled(ref ActivityCreationOptions<ActivityContext> options)
        {
            ActivityContext parent = options.Parent;
            bool isRoot = parent.TraceId == default(ActivityTraceId);
            Sampler sampler = Sampler.Set;
            bool isTaken = isRoot || !parent.IsRemote || sampler.ByParent ? isRoot || (parent.TraceFlags & ActivityTraceFlags.Recorded) != 0
                : sampler.Takes(Ambient.Low(parent.TraceId));
            if (!isTaken || isRoot && sampler.Draws && !sampler.Takes(Ambient.Low(options.TraceId)))
            {
                return ActivitySamplingResult.PropagationData;
            }
            return decides ? ActivitySamplingResult.AllDataAndRecorded : ActivitySamplingResult.AllData;
        }

        private static ActivitySamplingResult SampledById(ref ActivityCreationOptions<string> options)
        {
            return ActivitySamplingResult.PropagationData;
        }

        private static void Started(Activity activity)
        {
            try
            {
                Lane lane = Recorder.Lane();
                if (lane.Busy || activity.IdFormat != ActivityIdFormat.W3C)
                {
                    return;
                }
                var ids = default(Ids);
                Ambient.Read(activity, ref ids);
                Span around = Spans.Current;
                bool isRemote = activity.Parent == null && activity.ParentSpanId != default(ActivitySpanId);
                int flags = Span.Random | (activity.Recorded ? Span.Sampled : 0) | (isRemote ? Span.Remote : 0);
                // What stands for a span that was taken has an id of its own, which nobody else knows.
                bool isOfTaken = around != null && around.IsTaken && ReferenceEquals(around.Known, activity.Parent);
                long above = isOfTaken ? around.Id : Ambient.Number(activity.ParentSpanId);
                var from = new Parent(ids.TraceHigh, ids.TraceLow, above, flags, activity.TraceStateString, null);
                Shape shape = Shape.Of(activity.Source.Name, (int)activity.Kind);
                bool isBelow = around != null && around.Id == above;
                var span = new Span(isBelow ? around : null, from, ids, null, shape.Id, lane.ThreadNumber) { Before = around, Known = activity, IsTold = true };
                var open = new Open { Span = span };
                if (span.IsRecorded)
                {
                    open.Call = lane.NextCall();
                    lane.BeginTold(span, shape.Id, Clock.Now(), open.Call);
                }
                activity.SetCustomProperty(Property, open);
                Spans.Move(span);
            }
            catch (Exception)
            {
                Recorder.Fails();
            }
        }

        private static void Stopped(Activity activity)
        {
            try
            {
                var open = activity.GetCustomProperty(Property) as Open;
                if (open == null)
                {
                    return;
                }
                activity.SetCustomProperty(Property, null);
                Lane lane = Recorder.Lane();
                if (open.Call != 0 && !lane.Busy)
                {
                    Tell(lane, activity, open);
                }
                Span before = open.Span.Before;
                open.Span.End();
                Spans.LeaveTold(open.Span, before);
            }
            catch (Exception)
            {
                Recorder.Fails();
            }
        }

        /// <summary>The end of an activity: its values, and what it failed with.</summary>
        private static void Tell(Lane lane, Activity activity, Open open)
        {
            var tags = new List<KeyValuePair<string, object>>();
            string failure = null;
            string source = activity.Source.Name;
            foreach (KeyValuePair<string, object> tag in activity.TagObjects)
            {
                Conventions.Add(tags, source, tag.Key, tag.Value);
            }
            for (int i = 0; open.Told != null && i < open.Told.Length; i++)
            {
                Conventions.Add(tags, source, open.Told[i].Key, open.Told[i].Value);
            }
            Conventions.Judge(tags, source);
            Told thrown = null;
            foreach (ActivityEvent one in activity.Events)
            {
                thrown = one.Name == "exception" ? Thrown(one) ?? thrown : thrown;
            }
            for (int i = 0; i < tags.Count; i++)
            {
                failure = tags[i].Key == "error.type" ? tags[i].Value as string : failure;
            }
            bool failed = activity.Status == ActivityStatusCode.Error || failure != null;
            tags.Add(new KeyValuePair<string, object>("", Conventions.Name(activity.DisplayName, activity.OperationName, tags)));
            Shape shape = Shape.Of(source, (int)activity.Kind);
            shape.Know(tags);
            lane.Resume(0, shape.Id, Clock.Now(), open.Call);
            if (!string.IsNullOrEmpty(activity.TraceStateString))
            {
                Recorder.Value(activity.TraceStateString, Format.Text, Span.StatePlace | 1 << 10, Span.LongestState, null, shape.Id);
            }
            int links = 0;
            foreach (ActivityLink one in activity.Links)
            {
                if (links++ == Origin.MostLinks)
                {
                    break;
                }
                Recorder.Value(Ambient.Link(one.Context), Format.Text, Span.LinkPlace | 1 << 10, Span.LongestLink, null, shape.Id);
            }
            for (int i = 0; i < tags.Count; i++)
            {
                int place = shape.Place(tags[i].Key);
                if (place >= 0)
                {
                    Recorder.Value(tags[i].Value, Format.Text, place << 16 | 1 << 10, Limit, null, shape.Id);
                }
            }
            lane.Logical(failed ? Lane.What.Fail : Lane.What.End, shape.Id, Clock.Now(), open.Call, failed ? thrown : null);
        }

        private static Told Thrown(ActivityEvent one)
        {
            string type = null;
            string message = null;
            foreach (KeyValuePair<string, object> tag in one.Tags)
            {
                type = tag.Key == "exception.type" ? tag.Value as string : type;
                message = tag.Key == "exception.message" ? tag.Value as string : message;
            }
            return type == null ? null : new Told(type, message ?? "");
        }

        private static void Published(Instrument instrument, MeterListener listener)
        {
            if (instrument.Name == "http.server.request.duration")
            {
                listener.EnableMeasurementEvents(instrument, null);
            }
        }

        /// <summary>A request's duration is measured while its activity is still current. It has what that does not say.</summary>
        private static void Measured(Instrument instrument, double value, ReadOnlySpan<KeyValuePair<string, object>> tags, object state)
        {
            try
            {
                Activity activity = Activity.Current;
                var open = activity == null ? null : activity.GetCustomProperty(Property) as Open;
                if (open != null && activity.Source.Name == AspNet)
                {
                    open.Told = tags.ToArray();
                }
            }
            catch (Exception)
            {
                Recorder.Fails();
            }
        }
    }
}
