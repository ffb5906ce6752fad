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
        /// <summary>
        /// So many bytes go to the error stream, which is half of a usual pipe: where nobody reads from it, a full one stops the program.
        /// </summary>
        private const int MostOnErrorStream = 32 << 10;
        private const string NoMore = "weave: further lines are not shown here (WEAVE_LOG names a file for them)";

        private static long shown;

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
                    Show("weave: " + message);
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

        private static void Show(string line)
        {
            int length = Encoding.UTF8.GetBytes(line).Length + 1;
            long all = Interlocked.Add(ref shown, length);
            if (all <= MostOnErrorStream)
            {
                Console.Error.WriteLine(line);
            }
            else if (all - length <= MostOnErrorStream)
            {
                Console.Error.WriteLine(NoMore);
            }
        }

        private static DiskFile Open(string path)
        {
            try
            {
                return File.Exists(path) ? new DiskFile(path, FileMode.OpenOrCreate, FileAccess.ReadWrite) : Private.File(path);
            }
            catch (IOException) when (File.Exists(path))
            {
                return new DiskFile(path, FileMode.Open, FileAccess.ReadWrite); // somebody was faster
            }
        }

        private static void Append(string path, byte[] line)
        {
            using (DiskFile file = Open(path))
            {
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
