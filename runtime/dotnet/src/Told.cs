using System;

namespace Weave.Runtime
{
    /// <summary>What an activity tells of an exception.</summary>
    internal sealed class Told : Exception
    {
        internal readonly string TypeName;

        internal Told(string typeName, string message) : base(message)
        {
            TypeName = typeName;
        }
    }
}
