using System;
using System.Collections.Generic;
using System.IO;
using System.IO.MemoryMappedFiles;
using System.Linq;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.Loader;

/// <summary>
/// Has CoreCLR's JIT compile every method of assemblies, without running any.
/// <code>PrepareAll --list FILE [--resolve FOLDER]... [--own] [--progress FILE] [--skip FILE]</code>
/// The list names assemblies, one a line. What they refer to is looked for beside them, in the runtime, and in the
/// folders. <c>--own</c>: they are the runtime's own, and are asked for by name. Prints a line
/// <c>assembly TAB method TAB token TAB kind TAB message</c> for each failure, and at the end
/// <c>prepared N unjudged M bodies B</c>. A JIT that crashes takes the process with it: <c>--progress</c> then holds
/// the number of the assembly and the method's token, and with these in <c>--skip</c> the next run passes it by.
/// Generic types and methods are compiled for one fitting list of type arguments. Where none is found, the method
/// is unjudged, and is told with the kind <c>unjudged</c>.
/// </summary>
public static class PrepareAll
{
    private const BindingFlags Declared = BindingFlags.DeclaredOnly | BindingFlags.Public | BindingFlags.NonPublic
        | BindingFlags.Static | BindingFlags.Instance;

    private static readonly List<string> Folders = new();
    private static readonly HashSet<(int, int)> Skipped = new();
    private static readonly TextWriter Out = new StreamWriter(Console.OpenStandardOutput(), bufferSize: 1 << 16);
    private static MemoryMappedViewAccessor progress;
    private static int prepared, unjudged, bodies;

    public static int Main(string[] args)
    {
        string[] listed = null;
        bool own = false;
        for (int i = 0; i < args.Length; i++)
        {
            switch (args[i])
            {
                case "--list": listed = File.ReadAllLines(args[++i]); break;
                case "--resolve": Folders.Add(args[++i]); break;
                case "--own": own = true; break;
                case "--skip":
                    foreach (string line in File.ReadAllLines(args[++i]))
                    {
                        string[] parts = line.Split(' ');
                        Skipped.Add((int.Parse(parts[0]), int.Parse(parts[1])));
                    }
                    break;
                case "--progress":
                    File.WriteAllBytes(args[++i], new byte[8]);
                    progress = MemoryMappedFile.CreateFromFile(args[i], FileMode.Open).CreateViewAccessor(0, 8);
                    break;
                default: throw new ArgumentException(args[i]);
            }
        }
        for (int i = 0; i < listed.Length; i++)
        {
            One(i, listed[i], own);
            Out.Flush();
        }
        Out.WriteLine($"prepared {prepared} unjudged {unjudged} bodies {bodies}");
        Out.Flush();
        // Threads that an assembly's loading may have started are not waited for.
        Environment.Exit(0);
        return 0;
    }

    private static void One(int number, string path, bool own)
    {
        Assembly assembly;
        try
        {
            assembly = own
                ? Assembly.Load(new AssemblyName(Path.GetFileNameWithoutExtension(path)))
                : new Beside(Path.GetDirectoryName(Path.GetFullPath(path))).LoadFromAssemblyPath(Path.GetFullPath(path));
        }
        catch (Exception e) when (e is not OutOfMemoryException)
        {
            Tell(path, "-", 0, e);
            return;
        }
        foreach (Module module in assembly.GetModules())
        {
            // By token, not by GetTypes: a type that cannot be loaded hides no other.
            Methods(number, path, "<Module>", null, module.GetMethods(Declared));
            for (int token = 0x02000002; ; token++)
            {
                Type type;
                try
                {
                    type = module.ResolveType(token);
                }
                catch (ArgumentOutOfRangeException)
                {
                    break;
                }
                catch (Exception e)
                {
                    Tell(path, $"type {token:x8}", token, e);
                    continue;
                }
                try
                {
                    Methods(number, path, type.ToString(), type, type.GetMethods(Declared).Concat<MethodBase>(type.GetConstructors(Declared)));
                }
                catch (Exception e)
                {
                    Tell(path, type.ToString(), token, e);
                }
            }
        }
    }

    private static void Methods(int number, string path, string owner, Type type, IEnumerable<MethodBase> methods)
    {
        Type closed = null;
        string open = null;
        foreach (MethodBase method in methods)
        {
            const MethodImplAttributes NoIL = MethodImplAttributes.InternalCall | MethodImplAttributes.CodeTypeMask;
            bool body = !method.IsAbstract && (method.Attributes & MethodAttributes.PinvokeImpl) == 0
                && (method.GetMethodImplementationFlags() & NoIL) == 0;
            if (!body)
            {
                continue;
            }
            bodies++;
            int token = method.MetadataToken;
            if (Skipped.Contains((number, token)))
            {
                continue;
            }
            progress?.Write(0, number);
            progress?.Write(4, token);
            string name = owner + "::" + method.Name;
            try
            {
                if (type != null && type.IsGenericTypeDefinition && closed == null && open == null)
                {
                    closed = Arguments.Close(type.GetGenericArguments(), type.MakeGenericType, type.Assembly);
                    open = closed == null ? "no type arguments found" : null;
                }
                if (open != null)
                {
                    Unjudged(path, name, token, open);
                    continue;
                }
                Type[] arguments = closed?.GetGenericArguments() ?? Type.EmptyTypes;
                if (method.IsGenericMethodDefinition)
                {
                    var definition = (MethodInfo)(closed == null ? method : MethodBase.GetMethodFromHandle(method.MethodHandle, closed.TypeHandle));
                    MethodInfo made = Arguments.Close(definition.GetGenericArguments(), definition.MakeGenericMethod, method.Module.Assembly);
                    if (made == null)
                    {
                        Unjudged(path, name, token, "no type arguments found");
                        continue;
                    }
                    arguments = arguments.Concat(made.GetGenericArguments()).ToArray();
                }
                if (arguments.Length == 0)
                {
                    RuntimeHelpers.PrepareMethod(method.MethodHandle);
                }
                else
                {
                    RuntimeHelpers.PrepareMethod(method.MethodHandle, arguments.Select(a => a.TypeHandle).ToArray());
                }
                prepared++;
            }
            catch (Exception e) when (e is not OutOfMemoryException)
            {
                Tell(path, name, token, e);
            }
        }
    }

    private static void Unjudged(string path, string name, int token, string why)
    {
        unjudged++;
        Line(path, name, token, "unjudged", why);
    }

    private static void Tell(string path, string name, int token, Exception e)
    {
        while (e is TargetInvocationException && e.InnerException != null)
        {
            e = e.InnerException;
        }
        Line(path, name, token, e.GetType().Name, e.Message);
    }

    private static void Line(string path, string name, int token, string kind, string message)
    {
        string flat = new string(message.Select(c => c < ' ' ? ' ' : c).ToArray());
        string plain = new string(name.Select(c => c < ' ' ? ' ' : c).ToArray());
        Out.WriteLine($"{path}\t{plain}\t{token:x8}\t{kind}\t{flat}");
    }

    /// <summary>Assemblies of one folder; what is not there is looked for in the runtime, then in the other folders.</summary>
    private sealed class Beside : AssemblyLoadContext
    {
        private readonly string folder;

        internal Beside(string folder)
        {
            this.folder = folder;
        }

        protected override Assembly Load(AssemblyName name)
        {
            string here = Path.Combine(folder, name.Name + ".dll");
            if (File.Exists(here))
            {
                return LoadFromAssemblyPath(here);
            }
            try
            {
                return Default.LoadFromAssemblyName(name);
            }
            catch (Exception e) when (e is FileNotFoundException || e is FileLoadException)
            {
                string found = Folders.Select(f => Path.Combine(f, name.Name + ".dll")).FirstOrDefault(File.Exists);
                return found == null ? Older(name) : LoadFromAssemblyPath(Path.GetFullPath(found));
            }
        }

        /// <summary>The runtime's own, older than is asked for: what assemblies of newer SDKs are judged with.</summary>
        private static Assembly Older(AssemblyName name)
        {
            try
            {
                return Default.LoadFromAssemblyName(new AssemblyName(name.Name));
            }
            catch (Exception e) when (e is FileNotFoundException || e is FileLoadException)
            {
                return null;
            }
        }
    }
}

/// <summary>Type arguments that satisfy the constraints of type parameters.</summary>
internal static class Arguments
{
    private static readonly Type[] Usual =
    {
        typeof(object), typeof(string), typeof(int), typeof(double), typeof(byte), typeof(char), typeof(Guid), typeof(DayOfWeek),
        typeof(Exception), typeof(Action), typeof(List<object>), typeof(int[]), typeof(Attribute), typeof(EventArgs),
        typeof(KeyValuePair<object, object>), typeof(long), typeof(uint), typeof(float),
    };

    private static readonly Dictionary<Assembly, Type[]> Own = new();

    /// <summary>
    /// What <paramref name="make"/> makes of the first list of arguments that fits; null if none of some hundreds does.
    /// </summary>
    internal static T Close<T>(Type[] parameters, Func<Type[], T> make, Assembly assembly)
        where T : class
    {
        Type[][] candidates = parameters.Select(p => Candidates(p, assembly).Distinct().Take(40).ToArray()).ToArray();
        if (candidates.Any(c => c.Length == 0))
        {
            return null;
        }
        var at = new int[parameters.Length];
        for (int tries = 0; tries < 2000; tries++)
        {
            Type[] arguments = at.Select((n, i) => candidates[i][n]).ToArray();
            try
            {
                T made = make(arguments);
                // Whether a type loads is known when its handle is asked for.
                _ = made is Type type ? type.TypeHandle.Value : IntPtr.Zero;
                return made;
            }
            catch (Exception e) when (e is ArgumentException || e is TypeLoadException || e is NotSupportedException)
            {
                int place = 0;
                while (place < at.Length && ++at[place] == candidates[place].Length)
                {
                    at[place++] = 0;
                }
                if (place == at.Length)
                {
                    return null;
                }
            }
        }
        return null;
    }

    private static IEnumerable<Type> Candidates(Type parameter, Assembly assembly)
    {
        Type[] constraints = parameter.GetGenericParameterConstraints();
        bool value = (parameter.GenericParameterAttributes & GenericParameterAttributes.NotNullableValueTypeConstraint) != 0;
        bool fresh = (parameter.GenericParameterAttributes & GenericParameterAttributes.DefaultConstructorConstraint) != 0;
        bool free = constraints.All(c => c == typeof(ValueType) || c == typeof(object));
        if (!value && !fresh)
        {
            // A class or an interface is its own argument.
            foreach (Type constraint in constraints.Where(c => !c.ContainsGenericParameters && c != typeof(ValueType) && c != typeof(Enum)))
            {
                yield return constraint;
            }
        }
        foreach (Type usual in Usual.Where(u => value ? u.IsValueType : true))
        {
            if (free || Satisfies(usual, constraints))
            {
                yield return usual;
            }
        }
        foreach (Type type in TypesOf(assembly))
        {
            if ((!value || type.IsValueType) && (!fresh || type.IsValueType || !type.IsAbstract && type.GetConstructor(Type.EmptyTypes) != null)
                && Satisfies(type, constraints))
            {
                yield return type;
            }
        }
    }

    private static bool Satisfies(Type type, Type[] constraints)
    {
        return constraints.All(c =>
        {
            try
            {
                return c.IsGenericParameter || c.ContainsGenericParameters
                    ? c.IsGenericParameter || Bases(type).Any(b => b.IsGenericType && b.GetGenericTypeDefinition() == c.GetGenericTypeDefinition())
                    : c.IsAssignableFrom(type);
            }
            catch (Exception e) when (e is TypeLoadException || e is FileNotFoundException || e is FileLoadException)
            {
                return false;
            }
        });
    }

    private static IEnumerable<Type> Bases(Type type)
    {
        for (Type at = type; at != null; at = at.BaseType)
        {
            yield return at;
        }
        foreach (Type at in type.GetInterfaces())
        {
            yield return at;
        }
    }

    private static Type[] TypesOf(Assembly assembly)
    {
        if (!Own.TryGetValue(assembly, out Type[] types))
        {
            try
            {
                types = assembly.GetTypes();
            }
            catch (ReflectionTypeLoadException e)
            {
                types = e.Types.Where(t => t != null).ToArray();
            }
            // Classes before structures, by name: the same choice each time.
            Own[assembly] = types = types
                .Where(t => !t.ContainsGenericParameters && !t.IsByRefLike && !(t.IsAbstract && t.IsSealed))
                .OrderBy(t => t.IsValueType).ThenBy(t => t.FullName, StringComparer.Ordinal).ToArray();
        }
        return types;
    }
}
