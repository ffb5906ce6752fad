using System.Runtime.InteropServices;

namespace Weave.Runtime
{
    /// <summary>
    /// What the program's last call of native code has left for the program to read. Calls of the class library write it too, so whatever
    /// makes such calls on a thread of the program's puts it back.
    /// </summary>
    internal static class LastError
    {
        internal static int Get()
        {
            return Marshal.GetLastPInvokeError();
        }

        internal static void Set(int error)
        {
            Marshal.SetLastPInvokeError(error);
        }
    }
}
