using System;
using System.IO;
using System.Text;
using System.Threading;

namespace Weave.Runtime
{
    /// <summary>Where the library says what is wrong: on the error stream, in a file, or nowhere.</summary>
    internal static class Log
    {
        /// <summary>How often to ask for the file's lock, a millisecond apart: other processes may write a line, too.</summary>
        private const int Tries = 100;

        /// <summary>Null says nothing. Whoever calls this sees to it that nothing is recorded meanwhile.</summary>
        internal static void Say(string message)
        {
            if (message == null)
            {
                return;
            }
            long error = LastError.Get();
            try
            {
                string path = Settings.LogFile();
                if (path == null)
                {
                    Console.Error.WriteLine("weave: " + message);
                }
                else if (path.Length > 0 && !Posix.IsSpecial(path)) // a pipe would wait for its reader
                {
                    Append(path, Encoding.UTF8.GetBytes("weave: " + message + Environment.NewLine));
                }
            }
            catch (Exception)
            {
                // There is nobody to tell.
            }
            LastError.Set(error);
        }

        private static void Append(string path, byte[] line)
        {
            bool isNew = !File.Exists(path);
            using (var file = new DiskFile(path, FileMode.OpenOrCreate, FileAccess.ReadWrite))
            {
                if (isNew)
                {
                    // Messages are in it.
                    Posix.SetMode(path, Posix.OwnersFile);
                }
                for (int i = 0; i < Tries && !file.Lock(0); i++)
                {
                    Thread.Sleep(1);
                }
                long at = file.Length;
                if (at + line.Length <= Posix.LongestFile())
                {
                    file.Write(line, at);
                }
            }
        }
    }
}
