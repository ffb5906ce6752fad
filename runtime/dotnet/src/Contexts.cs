namespace Weave.Runtime
{
    /// <summary>
    /// What the hooks of all calls have to do with contexts. There is none before a span has begun, and native programs whose rules have no spans
    /// contain none.
    /// </summary>
    internal abstract class Contexts
    {
        /// <summary>Null: no span has begun yet.</summary>
        internal static volatile Contexts Used;

        /// <summary>The span in which this flow of the program runs; null where there is none, or it is over.</summary>
        internal abstract Span Current { get; }

        /// <summary>The first piece of a logical call that is a span runs; it is recorded or not.</summary>
        internal abstract void Resume(Lane lane, Span span, ref long call, int id);

        /// <summary>A logical call is over.</summary>
        internal abstract void Over(Lane lane, long call);
    }
}
