using System;

namespace acme {
/// <summary>Hooks that take all that there is, and change nothing.</summary>
public static class Any {
    public static object Enter(object self, object[] args) { return args; }
    public static void Exit(object state, object result) { }
    public static void Failed(object state, Exception e) { }
    public static void One(object value) { }
    public static T Around<T>(Func<T> proceed) { return proceed(); }
    public static void Around(Action proceed) { proceed(); }
}
}
