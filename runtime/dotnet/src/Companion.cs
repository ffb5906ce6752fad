namespace Weave.Runtime
{
    /// <summary>
    /// What goes beside a trace where methods can be switched. A class of its own, so that a native program without such methods has no
    /// more of <see cref="Control"/> than this. Only the library's own threads come here.
    /// </summary>
    internal abstract class Companion
    {
        /// <summary>How long until <see cref="Turn"/> may have something to do, in milliseconds; -1 for ever.</summary>
        internal abstract int Pause { get; }

        /// <summary>A symbols map.</summary>
        internal abstract void Add(byte[] map);

        /// <summary>Does what there is to do. For the supplier's thread.</summary>
        internal abstract void Turn();

        /// <summary>The process ends.</summary>
        internal abstract void End();
    }
}
