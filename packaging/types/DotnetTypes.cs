#:property PublishAot=false
// Writes rules/types-dotnet.txt: the public types of .NET and the .NET Framework, with the types directly above them and the names of
// their protected methods. If several assemblies have a type, the first counts, and the protected methods of all of them.
//
//     dotnet run packaging/types/DotnetTypes.cs folder.. > rules/types-dotnet.txt
//
// The folders: packs/Microsoft.NETCore.App.Ref/10.*/ref/net10.0 and Microsoft.AspNetCore.App.Ref's of an SDK, and build/.NETFramework/v4.8
// of the package Microsoft.NETFramework.ReferenceAssemblies.net48.
using System.Reflection;
using System.Reflection.Metadata;
using System.Reflection.PortableExecutable;
using System.Text;

// What programs do not extend: it counts where it lies above what they do.
string[] Rare =
[
    "Accessibility.", "Microsoft.Build.", "Microsoft.JScript.", "Microsoft.SqlServer.", "Microsoft.VisualBasic.", "Microsoft.Vsa.", "Microsoft.Win32.",
    "MS.", "System.Activities.", "System.AddIn.", "System.CodeDom.", "System.Data.Entity.Design.", "System.Data.Services.", "System.Deployment.",
    "System.Device.", "System.IdentityModel.", "System.Reflection.Metadata.", "System.ServiceModel.Activities.", "System.ServiceModel.Configuration.",
    "System.Speech.", "System.Web.Configuration.", "System.Web.Mobile.", "System.Web.UI.Design.", "System.Web.UI.MobileControls.",
    "System.Windows.Automation.Peers.", "System.Windows.Forms.Design.", "System.Windows.Forms.PropertyGridInternal.", "System.Windows.Xps.",
    "System.Workflow.", "XamlGeneratedNamespace.",
];
var types = new SortedDictionary<string, Listed>(StringComparer.Ordinal);
foreach (var folder in args)
{
    foreach (var path in Directory.GetFiles(folder, "*.dll").Order(StringComparer.Ordinal))
    {
        using var file = new PEReader(File.OpenRead(path));
        if (!file.HasMetadata) continue;
        var reader = file.GetMetadataReader();
        foreach (var handle in reader.TypeDefinitions) Add(reader, handle);
    }
}

var wanted = new HashSet<string>(StringComparer.Ordinal);
var open = new Stack<string>(types.Where(one => one.Value.IsPublic && one.Value.IsOfUse).Select(one => one.Key));
while (open.TryPop(out var name))
{
    if (types.TryGetValue(name, out var type) && wanted.Add(name)) type.Above.ForEach(open.Push);
}
using var output = new StreamWriter(Console.OpenStandardOutput(), new UTF8Encoding(false));
var last = "";
// A namespace's types stand together.
var all = types.Where(one => wanted.Contains(one.Key)).OrderBy(one => Namespace(one.Key), StringComparer.Ordinal).ThenBy(one => one.Key, StringComparer.Ordinal);
foreach (var (name, type) in all)
{
    var inside = Namespace(name);
    if (inside != last) output.Write($"= {last = inside}\n");
    var above = type.Above.Count == 1 && type.Above[0] == "System.Object" ? [] : type.Above;
    var words = above.Select(one => one == "System.Object" ? "/" : Simple(one, inside)).Concat(type.Hidden.Select(method => "-" + method));
    output.Write(string.Join(' ', words.Prepend(Simple(name, inside))) + "\n");
}

void Add(MetadataReader reader, TypeDefinitionHandle handle)
{
    var row = reader.GetTypeDefinition(handle);
    var name = NameOf(reader, handle);
    var isKnown = types.TryGetValue(name, out var type);
    if (!isKnown) types[name] = type = new Listed();
    type!.IsPublic |= IsPublic(reader, handle) && !Rare.Any(rare => name.StartsWith(rare, StringComparison.Ordinal));
    foreach (var method in row.GetMethods().Select(reader.GetMethodDefinition))
    {
        var access = method.Attributes & MethodAttributes.MemberAccessMask;
        var called = reader.GetString(method.Name);
        if (access is MethodAttributes.Family or MethodAttributes.FamORAssem && !called.StartsWith('.')) type.Hidden.Add(called);
    }
    if (isKnown) return;
    type.IsSealed = row.Attributes.HasFlag(TypeAttributes.Sealed);
    // Only the root has no type above it: an interface has none, and is an object.
    if (!row.BaseType.IsNil) type.Above.Add(NameOf(reader, row.BaseType));
    foreach (var one in row.GetInterfaceImplementations()) type.Above.Add(NameOf(reader, reader.GetInterfaceImplementation(one).Interface));
    type.Above.RemoveAll(one => one == "" || one.StartsWith("System.Numerics.I", StringComparison.Ordinal));
}

static bool IsPublic(MetadataReader reader, TypeDefinitionHandle handle)
{
    var row = reader.GetTypeDefinition(handle);
    return (row.Attributes & TypeAttributes.VisibilityMask) switch
    {
        TypeAttributes.Public => true,
        TypeAttributes.NestedPublic => IsPublic(reader, row.GetDeclaringType()),
        _ => false,
    };
}

static string NameOf(MetadataReader reader, EntityHandle handle)
{
    switch (handle.Kind)
    {
        case HandleKind.TypeDefinition:
            var row = reader.GetTypeDefinition((TypeDefinitionHandle)handle);
            return Joined(row.GetDeclaringType() is { IsNil: false } outer ? NameOf(reader, outer) : null, reader.GetString(row.Namespace), reader.GetString(row.Name));
        case HandleKind.TypeReference:
            var named = reader.GetTypeReference((TypeReferenceHandle)handle);
            var scope = named.ResolutionScope;
            return Joined(scope.Kind == HandleKind.TypeReference ? NameOf(reader, scope) : null, reader.GetString(named.Namespace), reader.GetString(named.Name));
        case HandleKind.TypeSpecification:
            // An instance of a generic type: after two bytes comes the type itself (ECMA-335 II.23.2.12).
            var blob = reader.GetBlobReader(reader.GetTypeSpecification((TypeSpecificationHandle)handle).Signature);
            if (blob.ReadSignatureTypeCode() != SignatureTypeCode.GenericTypeInstance) return "";
            blob.ReadByte();
            return NameOf(reader, blob.ReadTypeHandle());
        default:
            return "";
    }
}

static string Joined(string? outer, string inside, string name) => outer != null ? $"{outer}+{name}" : inside == "" ? name : $"{inside}.{name}";

static string Namespace(string name)
{
    var outermost = name.Split('+')[0];
    return outermost[..Math.Max(outermost.LastIndexOf('.'), 0)];
}

static string Simple(string name, string inside) => Namespace(name) == inside && inside != "" ? name[(inside.Length + 1)..] : name;

class Listed
{
    public bool IsPublic, IsSealed;
    public List<string> Above = [];
    public SortedSet<string> Hidden = new(StringComparer.Ordinal);

    // Nothing extends these, and nobody asks what they are.
    public bool IsOfUse => !IsSealed || Hidden.Count > 0 || Above.Count != 1 || !Ends.Contains(Above[0]);

    static readonly string[] Ends = ["System.Attribute", "System.Enum", "System.MulticastDelegate"];
}
