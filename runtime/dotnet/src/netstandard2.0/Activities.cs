using System;

namespace Weave.Runtime
{
    /// <summary>Spans that libraries make themselves, on .NET 8 and newer: elsewhere a program may have no activities.</summary>
    public static class Activities
    {
        /// <summary>The first version of .NET whose own build of this library listens to activities.</summary>
        private const int Heard = 8;

        private static bool told;

        /// <summary>From now on the activities of these sources are in the trace: names with commas between, in front of those that are not <c>!</c>.</summary>
        public static void Listen(string sources)
        {
            Version version = Environment.Version;
            if (told || !Switch.On || version.Major < Heard)
            {
                return;
            }
            told = true;
            Lane lane = Recorder.Mute();
            try
            {
                Log.Say("activities of libraries are not recorded: this is Weave.Runtime.dll for .NET Standard 2.0, "
                    + "and the one for .NET 8 records them (weave runtime --framework net8.0 Weave.Runtime.dll)");
            }
            finally
            {
                Recorder.Restore(lane);
            }
        }
    }
}
