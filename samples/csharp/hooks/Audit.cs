using System;

namespace Audit;

/// <summary>What leaves the shelf: hooks that know nothing of the shop's types.</summary>
public static class Shelf
{
    /// <summary>What it returns is the state of the call, which the other hooks get.</summary>
    public static string Taking(string name) => $"one {name}";

    public static void Took(string call, bool there, int left)
    {
        Console.Error.WriteLine($"audit: {call}: {(there ? $"taken, {left} left" : "there is none")}");
    }

    public static void Failed(string method, Exception exception)
    {
        Console.Error.WriteLine($"audit: {method}: {exception.GetType().Name}: {exception.Message}");
    }
}
