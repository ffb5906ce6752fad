namespace Acme {
    /// <summary>A hook in front of each call.</summary>
    public static class Each {
        static long calls;

        public static void Call(string method) {
            calls++;
        }
    }
}
