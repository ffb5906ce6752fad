// What the tasks use of .NET Standard beyond what the hook library does.

namespace System.IO
{
    public static partial class File
    {
        public static string[] ReadAllLines(string path) { throw null; }
    }
}
