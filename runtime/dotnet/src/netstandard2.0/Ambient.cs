namespace Weave.Runtime
{
    /// <summary>What the platform knows of contexts: nothing that is there everywhere.</summary>
    internal static class Ambient
    {
        internal static object Current
        {
            get { return null; }
        }

        internal static void Set(object known)
        {
        }

        internal static Parent Around(Span around)
        {
            return null;
        }

        internal static object Begin(Span parent, Parent from, ref Ids ids)
        {
            return null;
        }

        internal static void End(object known, object earlier)
        {
        }

        internal static void Finish(object known, object earlier)
        {
        }

        internal static object Take(Span given)
        {
            return null;
        }

        internal static void Leave(object earlier)
        {
        }
    }
}
