namespace Weave.Runtime
{
    /// <summary>Spans that libraries make themselves, on .NET 8 and newer: elsewhere a program may have no activities.</summary>
    public static class Activities
    {
        /// <summary>From now on the activities of these sources are in the trace: names with commas between, in front of those that are not <c>!</c>.</summary>
        public static void Listen(string sources)
        {
        }
    }
}
