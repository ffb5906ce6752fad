using System;

namespace acme
{
    public static class Say
    {
        public static void begin(string loud, string where)
        {
            Console.WriteLine("begin " + loud + " " + where);
        }

        public static string loud(string text) { return text == null ? null : text + "! "; }
    }
}
