using System;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Weave.Runtime
{
    /// <summary>
    /// Contexts that go with an object, through a queue and elsewhere. Who gives it notes the context in which that happens, who takes it goes
    /// on in that. An object that nobody holds any more is forgotten.
    /// </summary>
    [DebuggerStepThrough]
    public static class Queued
    {
        /// <summary>With so many objects at once no more contexts go.</summary>
        private const int Most = 1 << 16;

        /// <summary>What is noted of an object. It goes with that.</summary>
        private sealed class Note
        {
            internal volatile Span Span;

            internal Note()
            {
                Interlocked.Increment(ref count);
            }

            ~Note()
            {
                Interlocked.Decrement(ref count);
            }
        }

        private static readonly ConditionalWeakTable<object, Note> All = new ConditionalWeakTable<object, Note>();
        private static readonly ConditionalWeakTable<object, Note>.CreateValueCallback New = _ => new Note();
        private static int count;

        /// <summary>From here on the current context goes with the object; where there is none, none does.</summary>
        public static void Give(object o)
        {
            try
            {
                Span span = Spans.ToSend();
                Note note;
                if (o == null || !All.TryGetValue(o, out note) && (span == null || Volatile.Read(ref count) >= Most))
                {
                    return;
                }
                (note ?? All.GetValue(o, New)).Span = span;
            }
            catch (Exception)
            {
                Recorder.Fails();
            }
        }

        /// <summary>The context that goes with an object, or null.</summary>
        internal static Span Given(object o)
        {
            Note note;
            return o != null && All.TryGetValue(o, out note) ? note.Span : null;
        }

        /// <summary>A method begins that runs in the context of an object. What it gives is for <see cref="Done"/>.</summary>
        public static object Begin(object o)
        {
            try
            {
                Span given = Switch.On ? Given(o) : null;
                return given == null ? null : Spans.Open(given);
            }
            catch (Exception)
            {
                Recorder.Fails();
                return null;
            }
        }

        /// <summary>A method begins that takes contexts from calls: they end with it. What it gives is for <see cref="Done"/>.</summary>
        public static object Open()
        {
            try
            {
                return Switch.On ? Spans.Open(null) : null;
            }
            catch (Exception)
            {
                Recorder.Fails();
                return null;
            }
        }

        /// <summary>Such a method ends.</summary>
        public static void Done(object begun)
        {
            try
            {
                var turn = begun as Turn;
                if (turn != null)
                {
                    Spans.Close(turn);
                }
            }
            catch (Exception)
            {
                Recorder.Fails();
            }
        }

        /// <summary>From here on this flow of the program goes on in the context of the object, in place of what it has taken before.</summary>
        public static void Take(object o)
        {
            try
            {
                if (Switch.On)
                {
                    Spans.Take(Given(o));
                }
            }
            catch (Exception)
            {
                Recorder.Fails();
            }
        }

        /// <summary>The context that came in becomes a link of the span.</summary>
        public static object Link(object came)
        {
            try
            {
                return Origin.Link(came);
            }
            catch (Exception)
            {
                Recorder.Fails();
                return null;
            }
        }

        /// <summary>The context that was given with the object becomes the span's parent.</summary>
        public static object Parent(object came, object o)
        {
            try
            {
                return Origin.Below(came, Given(o));
            }
            catch (Exception)
            {
                Recorder.Fails();
                return came;
            }
        }

        /// <summary>The context that was given with the object becomes a link of the span; of a collection or an array, those of its elements do.</summary>
        public static object Links(object came, object o)
        {
            try
            {
                return Origin.Links(came, o);
            }
            catch (Exception)
            {
                return came; // a collection of the program's own
            }
        }
    }

    /// <summary>A method that takes contexts runs on a thread.</summary>
    internal sealed class Turn
    {
        /// <summary>The one in which it began.</summary>
        internal readonly Turn Outer;
        /// <summary>The context in which it began, and what the platform knew then.</summary>
        internal readonly Span Before;
        internal readonly object Earlier;

        internal Turn(Turn outer, Span before, object earlier)
        {
            Outer = outer;
            Before = before;
            Earlier = earlier;
        }

        /// <summary>Whether it is this one, or began in it.</summary>
        internal bool IsWithin(Turn one)
        {
            Turn turn = this;
            while (turn != null && turn != one)
            {
                turn = turn.Outer;
            }
            return turn != null;
        }
    }
}
