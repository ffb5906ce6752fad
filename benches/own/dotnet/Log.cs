using System;

namespace Bench;

/// <summary>The hooks: two arguments at the start, the result at the end.</summary>
public static class Log
{
    public static int Calls;
    public static int Sum;

    /// <summary>What is called on it may be woven, as far as weaving knows.</summary>
    public static object Seen = "";

    public static void Begin(int n, string text)
    {
        Calls += n + text.Length;
    }

    public static void End(int result)
    {
        Sum += result;
    }

    /// <summary>The same, but for a call that cannot be followed; it is never made.</summary>
    public static void BeginFlagged(int n, string text)
    {
        Calls += n + text.Length;
        if (n == int.MinValue)
        {
            Seen.GetHashCode();
        }
    }

    /// <summary>In the place of a body, which it runs.</summary>
    public static int Around(Func<int> proceed)
    {
        return proceed();
    }
}
