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
                int length = Host.Read(path, bytes);
                if (length < room)
                {
                    return Encoding.UTF8.GetString(bytes, 0, length);
                }
            }
        }

        internal static string[] Lines(string path)
        {
            return Text(path).Split('\n');
        }
    }
}
