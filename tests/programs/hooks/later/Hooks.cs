using System;
using System.Collections.Generic;
using System.Threading.Tasks;

namespace acme {
/// <summary>Hooks of methods that go on after they have returned. Each writes a line.</summary>
public static class Late {
    public static readonly List<string> Lines = new List<string>();

    public static void Say(string line) {
        lock (Lines) {
            Lines.Add(line);
        }
    }

    public static bool Said(string line) {
        lock (Lines) {
            return Lines.Contains(line);
        }
    }

    public static object Begin(string method, object[] args) {
        Say("> " + method + " " + string.Join(" ", args));
        return method + args.Length;
    }

    public static void End(object state, object result) {
        Say("< " + state + " = " + (result ?? "nothing"));
    }

    public static void Failed(object state, Exception e) {
        Say("! " + state + " " + e.GetType().Name + ": " + e.Message);
    }

    public static string Upper(string text) {
        return text.ToUpper();
    }

    public static int Started(int n) {
        return n + 100;
    }

    public static void Took(int state, long duration, int n, object self) {
        Say("  took " + (duration > 0 ? "some" : "no") + " time, " + state + ", was " + n + ", " + (self ?? "static"));
    }

    public static Exception Other(Exception e, string s) {
        return new InvalidOperationException("instead of " + e.Message + " for " + s);
    }

    public static Exception Numbered(Exception e, int n) {
        return new InvalidOperationException("instead of " + e.Message + ", " + n);
    }

    public static void Over() {
        Say("  over");
    }

    public static string Bad(string s) {
        throw new Exception("a bad hook");
    }

    public static T Same<T>(T value, string what) {
        Say("  " + what + " " + typeof(T).Name);
        return value;
    }

    public static void Both<T, U>(T argument, U result) {
        Say("  both " + typeof(T).Name + " " + typeof(U).Name);
    }

    public static async Task<T> Retry<T>(Func<Task<T>> proceed, int times) {
        for (int i = 1; ; i++) {
            try {
                return await proceed();
            } catch (Exception e) when (i < times) {
                Say("  again after " + e.Message);
            }
        }
    }

    public static IEnumerable<int> Doubled(Func<IEnumerable<int>> proceed) {
        foreach (int n in proceed()) {
            yield return n * 2;
        }
    }

    public static void Void(Action proceed) {
        Say("  void begins");
        proceed();
        Say("  void returns");
    }

    public static void Link(int length) {
        Say("  length " + length);
    }
}
}
