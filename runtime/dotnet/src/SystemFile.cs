using System.IO;
using System.Text;

namespace Weave.Runtime
{
    /// <summary>Files by which a system tells something. The class library's own readers weigh 170 KB in a native program.</summary>
    internal static class SystemFile
    {
        internal static string Text(string path)
        {
            for (int room = 4096; ; room *= 2)
            {
                var bytes = new byte[room];
                int length = Read(path, bytes);
                if (length < room)
                {
                    return Encoding.UTF8.GetString(bytes, 0, length);
                }
            }
        }

        /// <summary>The start of a file, as much as there is room for: how many bytes.</summary>
        internal static int Read(string path, byte[] bytes)
        {
            using (var file = new DiskFile(path, FileMode.Open, FileAccess.Read))
            {
                return file.Read(bytes);
            }
        }

        internal static string[] Lines(string path)
        {
            return Text(path).Split('\n');
        }
    }
}
