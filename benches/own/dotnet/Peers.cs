using System;
using AspectInjector.Broker;

namespace Bench;

public interface IWork
{
    int Do(int n, string text);
}

public class ByHand : IWork
{
    private int last;

    public int Do(int n, string text)
    {
        Log.Begin(n, text);
        last = n ^ last;
        int result = last + text.Length;
        Log.End(result);
        return result;
    }
}

/// <summary>A decorator as people write it, around a class that knows nothing of it.</summary>
public class Decorated : IWork
{
    private readonly IWork inner = new Decoratee();

    public int Do(int n, string text)
    {
        Log.Begin(n, text);
        int result = inner.Do(n, text);
        Log.End(result);
        return result;
    }
}

/// <summary>A delegate as people write it, instead of a body.</summary>
public class AroundByHand : IWork
{
    private int last;

    public int Do(int n, string text)
    {
        return Log.Around(() => Body(n, text));
    }

    private int Body(int n, string text)
    {
        last = n ^ last;
        return last + text.Length;
    }
}

/// <summary>AspectInjector's advice with the same values.</summary>
[Aspect(Scope.Global)]
[Injection(typeof(Logged))]
public class Logged : Attribute
{
    [Advice(Kind.Before)]
    public void Begin([Argument(Source.Arguments)] object[] arguments)
    {
        Log.Begin((int)arguments[0], (string)arguments[1]);
    }

    [Advice(Kind.After)]
    public void End([Argument(Source.ReturnValue)] object result)
    {
        Log.End((int)result);
    }
}
