using System;
using System.Runtime.InteropServices;

namespace Weave.Runtime
{
    internal static partial class Posix
    {
        /// <summary>0600 and 0700.</summary>
        internal const int OwnersFile = 0x180;
        internal const int OwnersFolder = 0x1C0;

        [DllImport("libc", EntryPoint = "chmod")]
        private static extern int ChangeMode(byte[] path, int mode);

        internal static void SetMode(string path, int mode)
        {
            if (System.IO.Path.DirectorySeparatorChar != '/')
            {
                return;
            }
            try
            {
                byte[] bytes = System.Text.Encoding.UTF8.GetBytes(path + "\0");
                ChangeMode(bytes, mode);
            }
            catch (Exception)
            {
                // It stays as the user's mask has it.
            }
        }
    }
}
