using System;
using System.Diagnostics;

namespace Weave.Runtime
{
    /// <summary>What the platform knows of contexts: its activities. Each span is one, so that the libraries below it and loggers know its ids.</summary>
    internal static class Ambient
    {
        private const string Name = "Weave";

        /// <summary>The activity of this flow of the program, or null.</summary>
        internal static object Current
        {
            get { return Activity.Current; }
        }

        internal static void Set(object known)
        {
            var activity = (Activity)known;
            if (activity == null || !activity.IsStopped)
            {
                Activity.Current = activity;
            }
        }

        /// <summary>
        /// What an activity says that is not ours and lies within <paramref name="around"/>; null where there is none. Activities that nobody
        /// listens to, as ASP.NET Core makes them, are no spans of anybody: below what came in is what is below them.
        /// </summary>
        internal static Parent Around(Span around)
        {
            object own = around == null ? null : around.Known;
            Activity outermost = null;
            for (Activity one = Activity.Current; one != null; one = one.Parent)
            {
                if (ReferenceEquals(one, own) || one.IdFormat != ActivityIdFormat.W3C)
                {
                    return null;
                }
                if (!one.IsStopped && one.Source.HasListeners())
                {
                    return From(one, one.SpanId, 0, one.Recorded);
                }
                outermost = one;
            }
            if (outermost == null || around != null)
            {
                return null;
            }
            bool isRemote = outermost.ParentSpanId != default(ActivitySpanId);
            return From(outermost, outermost.ParentSpanId, isRemote ? Span.Remote : 0, !isRemote || outermost.Recorded);
        }

        private static Parent From(Activity activity, ActivitySpanId parent, int flags, bool recorded)
        {
            var ids = default(Ids);
            Read(activity, ref ids);
            flags |= Span.Random | (recorded ? Span.Sampled : 0);
            return new Parent(ids.TraceHigh, ids.TraceLow, Number(parent), flags, activity.TraceStateString, null);
        }

        /// <summary>A span begins. Its ids are the activity's.</summary>
        internal static object Begin(Span parent, Parent from, ref Ids ids)
        {
            Activity current = Activity.Current;
            var activity = new Activity(Name);
            activity.SetIdFormat(ActivityIdFormat.W3C);
            long above = from != null ? from.Id : parent != null ? parent.Id : 0;
            bool isBelow = current != null && !current.IsStopped && current.IdFormat == ActivityIdFormat.W3C;
            if (isBelow && (from != null && above == 0 || above != 0 && Number(current.SpanId) == above))
            {
                // It is the current one's child.
            }
            else if (above != 0)
            {
                activity.SetParentId(Trace(ids.TraceHigh, ids.TraceLow), Id(above));
                activity.TraceStateString = from != null ? from.State : parent.State;
            }
            else
            {
                Activity.Current = null;
                if (from != null)
                {
                    activity.SetParentId(Trace(ids.TraceHigh, ids.TraceLow), default(ActivitySpanId)); // the id that was drawn
                    activity.TraceStateString = from.State;
                }
            }
            bool recorded = from != null ? (from.Flags & Span.Sampled) != 0 : parent == null || parent.IsRecorded;
            activity.ActivityTraceFlags = recorded ? ActivityTraceFlags.Recorded : ActivityTraceFlags.None;
            activity.Start();
            Read(activity, ref ids);
            return activity;
        }

        /// <summary>It ends, and this flow of the program is back in what it was in.</summary>
        internal static void End(object known, object earlier)
        {
            var activity = known as Activity;
            if (activity != null)
            {
                activity.Stop();
                Set(earlier);
            }
        }

        /// <summary>It ends, and this flow of the program stays in what it is in, unless that is over now.</summary>
        internal static void Finish(object known, object earlier)
        {
            var activity = known as Activity;
            if (activity != null)
            {
                Activity current = Activity.Current;
                activity.Stop();
                Set(ReferenceEquals(current, activity) ? earlier : current);
            }
        }

        /// <summary>This flow of the program runs in a span that was given with an object: in its activity, or below it once that is over.</summary>
        internal static object Take(Span given)
        {
            var own = given.Known as Activity;
            if (own != null && !own.IsStopped)
            {
                Activity.Current = own;
                return own;
            }
            Activity.Current = null; // it would hold that as what was there before
            var activity = new Activity(Name);
            activity.SetIdFormat(ActivityIdFormat.W3C);
            activity.SetParentId(Trace(given.TraceHigh, given.TraceLow), Id(given.Id));
            activity.TraceStateString = given.State;
            activity.ActivityTraceFlags = given.IsRecorded ? ActivityTraceFlags.Recorded : ActivityTraceFlags.None;
            activity.Start();
            return activity;
        }

        /// <summary>It leaves that.</summary>
        internal static void Leave(object earlier)
        {
            var activity = (Activity)earlier;
            Activity.Current = activity == null || activity.IsStopped ? null : activity;
        }

        internal static void Read(Activity activity, ref Ids ids)
        {
            Span<byte> bytes = stackalloc byte[16];
            activity.TraceId.CopyTo(bytes);
            ids.TraceHigh = Number(bytes, 0);
            ids.TraceLow = Number(bytes, 8);
            ids.Id = Number(activity.SpanId);
        }

        /// <summary>What a link to a context says.</summary>
        internal static string Link(ActivityContext to)
        {
            Span<byte> bytes = stackalloc byte[16];
            to.TraceId.CopyTo(bytes);
            int flags = (to.TraceFlags & ActivityTraceFlags.Recorded) != 0 ? Span.Sampled : 0;
            string state = to.TraceState;
            state = state != null && state.Length > Span.LongestState ? null : state;
            return Span.Link(Span.Traceparent(Number(bytes, 0), Number(bytes, 8), Number(to.SpanId), flags), state);
        }

        internal static long Low(ActivityTraceId id)
        {
            Span<byte> bytes = stackalloc byte[16];
            id.CopyTo(bytes);
            return Number(bytes, 8);
        }

        internal static long Number(ActivitySpanId id)
        {
            Span<byte> bytes = stackalloc byte[8];
            id.CopyTo(bytes);
            return Number(bytes, 0);
        }

        private static long Number(Span<byte> bytes, int at)
        {
            long number = 0;
            for (int i = at; i < at + 8; i++)
            {
                number = number << 8 | bytes[i];
            }
            return number;
        }

        private static void Write(long number, Span<byte> bytes, int at)
        {
            for (int i = at + 7; i >= at; i--, number >>= 8)
            {
                bytes[i] = (byte)number;
            }
        }

        private static ActivityTraceId Trace(long high, long low)
        {
            Span<byte> bytes = stackalloc byte[16];
            Write(high, bytes, 0);
            Write(low, bytes, 8);
            return ActivityTraceId.CreateFromBytes(bytes);
        }

        private static ActivitySpanId Id(long id)
        {
            Span<byte> bytes = stackalloc byte[8];
            Write(id, bytes, 0);
            return ActivitySpanId.CreateFromBytes(bytes);
        }
    }
}
