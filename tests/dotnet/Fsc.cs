using System;
using System.Linq;
using FSharp.Compiler.SourceCodeServices;
using Microsoft.FSharp.Control;

/// <summary>The F# compiler's command line over its service's assembly. Its methods change from version to version: they are found by name.</summary>
public static class Fsc
{
    public static int Main(string[] args)
    {
        var create = typeof(FSharpChecker).GetMethod("Create");
        object checker = create.Invoke(null, new object[create.GetParameters().Length]);
        var compile = typeof(FSharpChecker).GetMethods().First(m => m.Name == "Compile" && m.GetParameters()[0].ParameterType == typeof(string[]));
        object work = compile.Invoke(checker, new object[] { args.Prepend("fsc.exe").ToArray(), null });
        var result = compile.ReturnType.GetGenericArguments()[0];
        dynamic done = typeof(FSharpAsync).GetMethod("RunSynchronously").MakeGenericMethod(result).Invoke(null, new[] { work, null, null });
        foreach (object told in done.Item1)
        {
            Console.WriteLine(told);
        }
        return done.Item2;
    }
}
