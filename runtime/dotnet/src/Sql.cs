using System.Data;
using System.Diagnostics;

namespace Weave.Runtime
{
    /// <summary>The SQL text of commands, for <c>pack:adonet</c>.</summary>
    [DebuggerStepThrough]
    public static class Sql
    {
        /// <summary>The text of a command, or null.</summary>
        public static string Of(object command)
        {
            IDbCommand known = command as IDbCommand;
            return known == null ? null : known.CommandText;
        }
    }
}
