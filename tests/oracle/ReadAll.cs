using System;
using System.Collections.Generic;
using System.Collections.Immutable;
using System.IO;
using System.IO.Compression;
using System.Linq;
using System.Reflection;
using System.Reflection.Emit;
using System.Reflection.Metadata;
using System.Reflection.Metadata.Ecma335;
using System.Reflection.PortableExecutable;
using System.Security.Cryptography;
using System.Text;

/// <summary>
/// Reads assemblies with System.Reflection.Metadata, whole, and says what does not hold together.
/// <code>ReadAll --list FILE [--root FOLDER] [--woven FOLDER]</code>
/// The list names assemblies under the root. With <c>--woven</c> those of the same names there are read too, and
/// compared: all but what weaving adds must be as before. Prints
/// <c>assembly TAB before|after|compared TAB what is wrong</c>, and for each assembly
/// <c>assembly TAB count TAB types TAB bodies TAB hooked TAB bytes of bodies TAB steps TAB reference</c> (again for the woven one, with
/// <c>woven</c> in place of <c>count</c>): steps are methods with a body of the types that compilers make of async
/// methods and iterators; reference is 1 for a reference assembly.
/// </summary>
public static class ReadAll
{
    public static int Main(string[] args)
    {
        string root = ".", woven = null, list = null;
        for (int i = 0; i < args.Length; i += 2)
        {
            switch (args[i])
            {
                case "--list": list = args[i + 1]; break;
                case "--root": root = args[i + 1]; break;
                case "--woven": woven = args[i + 1]; break;
                default: throw new ArgumentException(args[i]);
            }
        }
        using var lines = new StreamWriter(Console.OpenStandardOutput(), new UTF8Encoding(false), 1 << 16);
        int read = 0;
        foreach (string name in File.ReadAllLines(list))
        {
            var before = new Reader(Path.Combine(root, name));
            before.Read();
            Tell(lines, name, "before", before.Problems);
            lines.WriteLine(Line(name, "count", before));
            if (woven != null && File.Exists(Path.Combine(woven, name)))
            {
                var after = new Reader(Path.Combine(woven, name));
                after.Read();
                Tell(lines, name, "after", after.Problems);
                lines.WriteLine(Line(name, "woven", after));
                Tell(lines, name, "compared", Reader.Compare(before, after));
            }
            read++;
        }
        lines.WriteLine($"read {read}");
        return 0;
    }

    private static string Line(string name, string what, Reader r) =>
        $"{name}\t{what}\t{r.Types}\t{r.Bodies}\t{r.Hooked}\t{r.BodyBytes}\t{r.Steps}\t{(r.Reference ? 1 : 0)}";

    private static void Tell(TextWriter lines, string name, string when, List<string> problems)
    {
        foreach (string problem in problems.Take(20))
        {
            lines.WriteLine($"{name}\t{when}\t{new string(problem.Select(c => c < ' ' ? ' ' : c).ToArray())}");
        }
        if (problems.Count > 20)
        {
            lines.WriteLine($"{name}\t{when}\tand {problems.Count - 20} more");
        }
    }
}

/// <summary>One assembly: what is wrong with it, and what is in it by name.</summary>
internal sealed class Reader
{
    internal readonly List<string> Problems = new();
    internal int Types, Bodies, Hooked, Steps;
    internal long BodyBytes;
    internal bool Reference;

    private readonly string path;
    /// <summary>Everything but bodies and what weaving adds, one line each.</summary>
    private readonly List<string> facts = new();
    private readonly List<string> ofPdb = new();
    /// <summary>Of each method that is not hooked, its body with names in place of tokens.</summary>
    private readonly Dictionary<string, string> plain = new();
    /// <summary>Of each method, the lines its PDB tells.</summary>
    private readonly Dictionary<string, string> lines = new();
    /// <summary>Of each method, its locals' names.</summary>
    private readonly Dictionary<string, string> locals = new();
    private bool hasPdb;

    private PEReader pe;
    private MetadataReader md;
    private Names names;
    private readonly Dictionary<int, Code> bodies = new();

    /// <summary>What a body's checks leave for the PDB's.</summary>
    private sealed class Code
    {
        internal int Size;
        internal HashSet<int> Starts;
        internal int Locals;
    }

    internal Reader(string path)
    {
        this.path = path;
    }

    internal void Read()
    {
        try
        {
            byte[] bytes = File.ReadAllBytes(path);
            using (pe = new PEReader(ImmutableArray.Create(bytes)))
            {
                md = pe.GetMetadataReader();
                names = new Names(md);
                Part("sections", Sections);
                Part("tables", Tables);
                Part("types", AllTypes);
                Part("bodies", AllBodies);
                Part("resources", Resources);
                Part("debug directory", () => Debug(bytes));
            }
        }
        catch (Exception e)
        {
            Problems.Add($"{e.GetType().Name}: {e.Message}");
        }
    }

    private void Part(string what, Action check)
    {
        try
        {
            check();
        }
        catch (Exception e) when (e is BadImageFormatException || e is InvalidOperationException || e is ArgumentException
            || e is OverflowException || e is IndexOutOfRangeException || e is KeyNotFoundException || e is InvalidDataException)
        {
            Problems.Add($"{what}: {e.GetType().Name}: {e.Message} {(e.StackTrace ?? "").Split('\n').FirstOrDefault(l => l.Contains("Reader."))?.Trim()}");
        }
    }

    private void Must(bool good, string problem)
    {
        if (!good)
        {
            Problems.Add(problem);
        }
    }

    private void Sections()
    {
        int memory = 0, file = 0;
        PEHeader header = pe.PEHeaders.PEHeader;
        foreach (SectionHeader section in pe.PEHeaders.SectionHeaders)
        {
            Must(section.VirtualAddress % header.SectionAlignment == 0, $"section {section.Name} is not aligned in memory");
            Must(section.VirtualAddress >= memory, $"section {section.Name} overlaps the one before in memory");
            if (section.SizeOfRawData > 0)
            {
                Must(section.PointerToRawData % header.FileAlignment == 0, $"section {section.Name} is not aligned in the file");
                Must(section.PointerToRawData >= file, $"section {section.Name} overlaps the one before in the file");
                file = section.PointerToRawData + section.SizeOfRawData;
                Must(file <= pe.GetEntireImage().Length, $"section {section.Name} ends behind the file");
            }
            memory = section.VirtualAddress + Math.Max(section.VirtualSize, section.SizeOfRawData);
        }
        Must(header.SizeOfImage >= memory - header.SectionAlignment, "SizeOfImage is too small");
        Must(header.SizeOfImage % header.SectionAlignment == 0, "SizeOfImage is not aligned");
        CorHeader cor = pe.PEHeaders.CorHeader;
        facts.Add($"entry point {names.Token(cor.EntryPointTokenOrRelativeVirtualAddress)}");
        facts.Add($"flags {cor.Flags & ~(CorFlags.StrongNameSigned | CorFlags.ILOnly | (CorFlags)4)}");
        facts.Add($"subsystem {header.Subsystem} {header.DllCharacteristics} {pe.PEHeaders.CoffHeader.Characteristics}");
        DirectoryEntry win32 = header.ResourceTableDirectory;
        if (win32.Size > 0)
        {
            facts.Add("Win32 resources " + Win32(win32.RelativeVirtualAddress, 0, 0));
        }
    }

    /// <summary>The tree of Win32 resources, with the data's hashes in place of its addresses.</summary>
    private unsafe string Win32(int root, int at, int depth)
    {
        PEMemoryBlock block = pe.GetSectionData(root);
        BlobReader reader = block.GetReader(at, block.Length - at);
        reader.Offset = 12;
        int count = reader.ReadUInt16() + reader.ReadUInt16();
        var told = new StringBuilder();
        for (int i = 0; i < count && depth < 4; i++)
        {
            uint id = reader.ReadUInt32(), where = reader.ReadUInt32();
            told.Append(id).Append('(');
            if ((where & 0x80000000) != 0)
            {
                told.Append(Win32(root, (int)(where & 0x7fffffff), depth + 1));
            }
            else
            {
                BlobReader entry = block.GetReader((int)where, 16);
                int rva = entry.ReadInt32(), size = entry.ReadInt32();
                PEMemoryBlock data = pe.GetSectionData(rva);
                told.Append(Hash(new ReadOnlySpan<byte>(data.Pointer, Math.Min(size, data.Length))));
                Must(size <= data.Length, "a Win32 resource ends behind its section");
            }
            told.Append(')');
        }
        return told.ToString();
    }

    // ECMA-335 II.22: the tables that are sorted, and the columns by which.
    private void Tables()
    {
        Sorted(TableIndex.InterfaceImpl, md.GetTableRowCount(TableIndex.InterfaceImpl), i => (Column(TableIndex.InterfaceImpl, i, 0, Simple(TableIndex.TypeDef)), 0), false);
        Sorted(TableIndex.Constant, 0, i => (Column(TableIndex.Constant, i, 2, CodedSize(2, TableIndex.Field, TableIndex.Param, TableIndex.Property)), 0), true);
        Sorted(TableIndex.CustomAttribute, 0, i => (Column(TableIndex.CustomAttribute, i, 0, CodedSize(5, HasCustomAttribute)), 0), false);
        Sorted(TableIndex.FieldMarshal, 0, i => (Column(TableIndex.FieldMarshal, i, 0, CodedSize(1, TableIndex.Field, TableIndex.Param)), 0), true);
        Sorted(TableIndex.DeclSecurity, 0, i => (Column(TableIndex.DeclSecurity, i, 2, CodedSize(2, TableIndex.TypeDef, TableIndex.MethodDef, TableIndex.Assembly)), 0), false);
        Sorted(TableIndex.ClassLayout, 0, i => (Column(TableIndex.ClassLayout, i, 6, Simple(TableIndex.TypeDef)), 0), true);
        Sorted(TableIndex.FieldLayout, 0, i => (Column(TableIndex.FieldLayout, i, 4, Simple(TableIndex.Field)), 0), true);
        Sorted(TableIndex.MethodSemantics, 0, i => (Column(TableIndex.MethodSemantics, i, 2 + Simple(TableIndex.MethodDef), CodedSize(1, TableIndex.Event, TableIndex.Property)), 0), false);
        Sorted(TableIndex.MethodImpl, 0, i => (Column(TableIndex.MethodImpl, i, 0, Simple(TableIndex.TypeDef)), 0), false);
        Sorted(TableIndex.ImplMap, 0, i => (Column(TableIndex.ImplMap, i, 2, CodedSize(1, TableIndex.Field, TableIndex.MethodDef)), 0), true);
        Sorted(TableIndex.FieldRva, 0, i => (Column(TableIndex.FieldRva, i, 4, Simple(TableIndex.Field)), 0), true);
        Sorted(TableIndex.NestedClass, 0, i => (Column(TableIndex.NestedClass, i, 0, Simple(TableIndex.TypeDef)), 0), true);
        int owner = CodedSize(1, TableIndex.TypeDef, TableIndex.MethodDef);
        Sorted(TableIndex.GenericParam, 0, i => (Column(TableIndex.GenericParam, i, 4, owner), Column(TableIndex.GenericParam, i, 0, 2)), true);
        Sorted(TableIndex.GenericParamConstraint, 0, i => (Column(TableIndex.GenericParamConstraint, i, 0, Simple(TableIndex.GenericParam)), 0), false);
        for (int table = 0; table <= (int)TableIndex.GenericParamConstraint; table++)
        {
            var index = (TableIndex)table;
            // These may grow.
            if (index != TableIndex.TypeRef && index != TableIndex.MemberRef && index != TableIndex.AssemblyRef && index != TableIndex.StandAloneSig
                && index != TableIndex.TypeSpec && index != TableIndex.MethodSpec && index != TableIndex.ManifestResource && index != TableIndex.Field
                && index != TableIndex.FieldPtr)
            {
                facts.Add($"rows of {index}: {md.GetTableRowCount(index)}");
            }
        }
        ModuleDefinition module = md.GetModuleDefinition();
        facts.Add($"module {md.GetString(module.Name)}");
        if (md.IsAssembly)
        {
            AssemblyDefinition assembly = md.GetAssemblyDefinition();
            facts.Add($"assembly {md.GetString(assembly.Name)} {assembly.Version} {md.GetString(assembly.Culture)} {assembly.HashAlgorithm}");
        }
        foreach (AssemblyReferenceHandle handle in md.AssemblyReferences)
        {
            AssemblyReference reference = md.GetAssemblyReference(handle);
            string name = md.GetString(reference.Name);
            if (name != "Weave.Runtime")
            {
                facts.Add($"refers to {name} {reference.Version} {Hex(md.GetBlobBytes(reference.PublicKeyOrToken))} {reference.Flags} {md.GetString(reference.Culture)}");
            }
        }
        foreach (ExportedTypeHandle handle in md.ExportedTypes)
        {
            ExportedType type = md.GetExportedType(handle);
            facts.Add($"exports {md.GetString(type.Namespace)}.{md.GetString(type.Name)} {type.Attributes} {names.Handle(type.Implementation)}");
        }
        foreach (AssemblyFileHandle handle in md.AssemblyFiles)
        {
            AssemblyFile file = md.GetAssemblyFile(handle);
            facts.Add($"file {md.GetString(file.Name)} {file.ContainsMetadata} {Hex(md.GetBlobBytes(file.HashValue))}");
        }
        // A row that nothing else reads is read here.
        foreach (MemberReferenceHandle handle in md.MemberReferences)
        {
            names.Handle(handle);
        }
        foreach (TypeReferenceHandle handle in md.TypeReferences)
        {
            names.Handle(handle);
        }
        for (int i = 1; i <= md.GetTableRowCount(TableIndex.TypeSpec); i++)
        {
            names.Handle(MetadataTokens.TypeSpecificationHandle(i));
        }
        for (int i = 1; i <= md.GetTableRowCount(TableIndex.MethodSpec); i++)
        {
            names.Handle(MetadataTokens.MethodSpecificationHandle(i));
        }
        for (int i = 1; i <= md.GetTableRowCount(TableIndex.StandAloneSig); i++)
        {
            names.Handle(MetadataTokens.StandaloneSignatureHandle(i));
        }
    }

    private static readonly TableIndex[] HasCustomAttribute =
    {
        TableIndex.MethodDef, TableIndex.Field, TableIndex.TypeRef, TableIndex.TypeDef, TableIndex.Param, TableIndex.InterfaceImpl,
        TableIndex.MemberRef, TableIndex.Module, TableIndex.DeclSecurity, TableIndex.Property, TableIndex.Event, TableIndex.StandAloneSig,
        TableIndex.ModuleRef, TableIndex.TypeSpec, TableIndex.Assembly, TableIndex.AssemblyRef, TableIndex.File, TableIndex.ExportedType,
        TableIndex.ManifestResource, TableIndex.GenericParam, TableIndex.GenericParamConstraint, TableIndex.MethodSpec,
    };

    private int Simple(TableIndex table) => md.GetTableRowCount(table) < 1 << 16 ? 2 : 4;

    private int CodedSize(int bits, params TableIndex[] tables) => tables.Max(md.GetTableRowCount) < 1 << (16 - bits) ? 2 : 4;

    private unsafe long Column(TableIndex table, int row, int offset, int size)
    {
        byte* at = md.MetadataPointer + md.GetTableMetadataOffset(table) + row * md.GetTableRowSize(table) + offset;
        return size == 2 ? *(ushort*)at : *(uint*)at;
    }

    private void Sorted(TableIndex table, int ignored, Func<int, (long, long)> key, bool unique)
    {
        _ = ignored;
        (long, long) last = (-1, -1);
        for (int row = 0; row < md.GetTableRowCount(table); row++)
        {
            (long, long) here = key(row);
            int order = here.CompareTo(last);
            if (order < 0 || unique && order == 0)
            {
                Problems.Add($"{table} is not sorted at row {row + 1}");
                return;
            }
            last = here;
        }
    }

    private void AllTypes()
    {
        int methods = 0, fields = 0, parameters = 0;
        foreach (TypeDefinitionHandle handle in md.TypeDefinitions)
        {
            Types++;
            TypeDefinition type = md.GetTypeDefinition(handle);
            string name = names.Handle(handle);
            TypeLayout layout = type.GetLayout();
            facts.Add($"type {name} {type.Attributes} : {names.Handle(type.BaseType)} {(layout.IsDefault ? "" : $"{layout.PackingSize}/{layout.Size}")}"
                + string.Concat(type.GetInterfaceImplementations().Select(i => " " + names.Handle(md.GetInterfaceImplementation(i).Interface)
                    + Attributes(md.GetInterfaceImplementation(i).GetCustomAttributes())))
                + Generics(type.GetGenericParameters()) + Attributes(type.GetCustomAttributes()) + Security(type.GetDeclarativeSecurityAttributes()));
            foreach (FieldDefinitionHandle f in type.GetFields())
            {
                FieldDefinition field = md.GetFieldDefinition(f);
                fields++;
                string fieldName = md.GetString(field.Name);
                if (fieldName == "weave$call")
                {
                    string told = field.DecodeSignature(names, null);
                    Must(told == "int64" && (field.Attributes & FieldAttributes.Static) == 0, $"{name}.weave$call is {told} {field.Attributes}");
                    continue;
                }
                facts.Add($"field {name}.{fieldName} {field.DecodeSignature(names, null)} {field.Attributes} {field.GetOffset()} {Constant(field.GetDefaultValue())}"
                    + $" {Blob(field.GetMarshallingDescriptor())} {Data(field)}" + Attributes(field.GetCustomAttributes()));
            }
            foreach (MethodDefinitionHandle m in type.GetMethods())
            {
                MethodDefinition method = md.GetMethodDefinition(m);
                methods++;
                MethodImport import = method.GetImport();
                facts.Add($"method {names.Handle(m)} {method.Attributes} {method.ImplAttributes} {(method.RelativeVirtualAddress == 0 ? "no body" : "")}"
                    + $" {(import.Module.IsNil ? "" : names.Handle(import.Module) + md.GetString(import.Name) + import.Attributes)}"
                    + string.Concat(method.GetParameters().Select(p => Parameter(p)))
                    + Generics(method.GetGenericParameters()) + Attributes(method.GetCustomAttributes()) + Security(method.GetDeclarativeSecurityAttributes()));
                parameters += method.GetParameters().Count;
            }
            foreach (PropertyDefinitionHandle p in type.GetProperties())
            {
                PropertyDefinition property = md.GetPropertyDefinition(p);
                PropertyAccessors by = property.GetAccessors();
                MethodSignature<string> signature = property.DecodeSignature(names, null);
                facts.Add($"property {name}.{md.GetString(property.Name)} {signature.ReturnType} {string.Join(",", signature.ParameterTypes)} {property.Attributes}"
                    + $" {names.Handle(by.Getter)} {names.Handle(by.Setter)} {string.Join(" ", by.Others.Select(o => names.Handle(o)))} {Constant(property.GetDefaultValue())}"
                    + Attributes(property.GetCustomAttributes()));
            }
            foreach (EventDefinitionHandle e in type.GetEvents())
            {
                EventDefinition declared = md.GetEventDefinition(e);
                EventAccessors by = declared.GetAccessors();
                facts.Add($"event {name}.{md.GetString(declared.Name)} {names.Handle(declared.Type)} {declared.Attributes} {names.Handle(by.Adder)} {names.Handle(by.Remover)}"
                    + $" {names.Handle(by.Raiser)} {string.Join(" ", by.Others.Select(o => names.Handle(o)))}" + Attributes(declared.GetCustomAttributes()));
            }
            foreach (MethodImplementationHandle i in type.GetMethodImplementations())
            {
                MethodImplementation by = md.GetMethodImplementation(i);
                facts.Add($"implements {name} {names.Handle(by.MethodDeclaration)} {names.Handle(by.MethodBody)}");
            }
        }
        Must(methods == md.GetTableRowCount(TableIndex.MethodDef), $"types have {methods} methods of {md.GetTableRowCount(TableIndex.MethodDef)}");
        Must(fields == md.GetTableRowCount(TableIndex.Field), $"types have {fields} fields of {md.GetTableRowCount(TableIndex.Field)}");
        Must(parameters == md.GetTableRowCount(TableIndex.Param), $"methods have {parameters} parameters of {md.GetTableRowCount(TableIndex.Param)}");
        if (md.IsAssembly)
        {
            AssemblyDefinition assembly = md.GetAssemblyDefinition();
            Reference = assembly.GetCustomAttributes().Any(a => names.Handle(md.GetCustomAttribute(a).Constructor).Contains("ReferenceAssemblyAttribute::"));
            facts.Add("assembly's" + Attributes(assembly.GetCustomAttributes()) + Security(assembly.GetDeclarativeSecurityAttributes()));
        }
        facts.Add("module's" + Attributes(md.GetModuleDefinition().GetCustomAttributes()));
    }

    private string Parameter(ParameterHandle handle)
    {
        Parameter parameter = md.GetParameter(handle);
        return $" {parameter.SequenceNumber} {md.GetString(parameter.Name)} {parameter.Attributes} {Constant(parameter.GetDefaultValue())}"
            + $" {Blob(parameter.GetMarshallingDescriptor())}" + Attributes(parameter.GetCustomAttributes());
    }

    private string Constant(ConstantHandle handle)
    {
        if (handle.IsNil)
        {
            return "";
        }
        Constant constant = md.GetConstant(handle);
        return $"= {constant.TypeCode} {Blob(constant.Value)}";
    }

    private string Blob(BlobHandle handle) => handle.IsNil ? "" : Hash(md.GetBlobBytes(handle));

    private string Attributes(CustomAttributeHandleCollection handles)
    {
        // Those of one parent may come in any order.
        return string.Concat(handles.Select(h =>
        {
            CustomAttribute attribute = md.GetCustomAttribute(h);
            return $" [{names.Handle(attribute.Constructor)} {Blob(attribute.Value)}]";
        }).OrderBy(t => t, StringComparer.Ordinal));
    }

    private string Generics(GenericParameterHandleCollection handles)
    {
        return string.Concat(handles.Select(h =>
        {
            GenericParameter parameter = md.GetGenericParameter(h);
            return $" <{parameter.Index} {md.GetString(parameter.Name)} {parameter.Attributes}"
                + string.Concat(parameter.GetConstraints().Select(c => " " + names.Handle(md.GetGenericParameterConstraint(c).Type)
                    + Attributes(md.GetGenericParameterConstraint(c).GetCustomAttributes()))) + Attributes(parameter.GetCustomAttributes()) + ">";
        }));
    }

    private string Security(DeclarativeSecurityAttributeHandleCollection handles)
    {
        return string.Concat(handles.Select(h =>
        {
            DeclarativeSecurityAttribute attribute = md.GetDeclarativeSecurityAttribute(h);
            return $" {attribute.Action} {Blob(attribute.PermissionSet)}";
        }));
    }

    /// <summary>What is at a field's RVA: as many bytes as its type takes, and how they are aligned.</summary>
    private unsafe string Data(FieldDefinition field)
    {
        int rva = field.GetRelativeVirtualAddress();
        if (rva == 0)
        {
            return "";
        }
        string type = field.DecodeSignature(names, null);
        int pack = 1;
        int size = type switch
        {
            "bool" or "uint8" or "int8" => 1,
            "int16" or "uint16" or "char" => 2,
            "int32" or "uint32" or "float32" => 4,
            "int64" or "uint64" or "float64" => 8,
            _ => 0,
        };
        if (size == 0)
        {
            BlobReader signature = md.GetBlobReader(field.Signature);
            signature.ReadByte();
            if (signature.ReadSignatureTypeCode() == SignatureTypeCode.TypeHandle && signature.ReadTypeHandle() is { Kind: HandleKind.TypeDefinition } handle)
            {
                TypeLayout layout = md.GetTypeDefinition((TypeDefinitionHandle)handle).GetLayout();
                (size, pack) = (layout.Size, Math.Max(layout.PackingSize, 1));
            }
        }
        PEMemoryBlock data = pe.GetSectionData(rva);
        // Read as a span of the elements: .NET 8 asks for their alignment, which the pack tells.
        Must(rva % pack == 0, $"field {md.GetString(field.Name)}: data at {rva:x} is not aligned to {pack}");
        Must(data.Length >= size, $"field {md.GetString(field.Name)}: data at {rva:x} ends behind its section");
        return Hash(new ReadOnlySpan<byte>(data.Pointer, Math.Min(size, data.Length)));
    }

    private static readonly OpCode?[] OneByte = new OpCode?[256], TwoBytes = new OpCode?[256];

    static Reader()
    {
        foreach (FieldInfo field in typeof(OpCodes).GetFields(BindingFlags.Public | BindingFlags.Static))
        {
            var code = (OpCode)field.GetValue(null);
            (code.Size == 1 ? OneByte : TwoBytes)[code.Value & 0xff] = code;
        }
    }

    private void AllBodies()
    {
        var ranges = new SortedDictionary<int, int>();
        HashSet<TypeDefinitionHandle> machines = Machines();
        foreach (MethodDefinitionHandle handle in md.MethodDefinitions)
        {
            MethodDefinition method = md.GetMethodDefinition(handle);
            if (method.RelativeVirtualAddress == 0 || (method.ImplAttributes & MethodImplAttributes.CodeTypeMask) != MethodImplAttributes.IL)
            {
                continue;
            }
            Bodies++;
            Steps += machines.Contains(method.GetDeclaringType()) ? 1 : 0;
            string name = names.Handle(handle);
            try
            {
                MethodBodyBlock body = pe.GetMethodBody(method.RelativeVirtualAddress);
                BodyBytes += body.Size;
                ranges[method.RelativeVirtualAddress] = body.Size;
                var text = new StringBuilder();
                if (Body(name, handle, method.RelativeVirtualAddress, body, text))
                {
                    Hooked++;
                }
                else
                {
                    plain[name] = Hash(Encoding.UTF8.GetBytes(text.ToString()));
                }
            }
            catch (Exception e) when (e is BadImageFormatException || e is ArgumentException || e is InvalidOperationException)
            {
                Problems.Add($"{name}: {e.GetType().Name}: {e.Message}");
            }
        }
        int end = 0;
        foreach (KeyValuePair<int, int> range in ranges)
        {
            Must(range.Key >= end, $"the body at {range.Key:x} begins inside of the one before");
            end = range.Key + range.Value;
        }
        DirectoryEntry metadata = pe.PEHeaders.CorHeader.MetadataDirectory;
        int from = metadata.RelativeVirtualAddress, to = from + metadata.Size;
        Must(!ranges.Any(r => r.Key < to && r.Key + r.Value > from), "a body lies in the metadata");
    }

    /// <summary>The types that an attribute of a method names as its state machine.</summary>
    private HashSet<TypeDefinitionHandle> Machines()
    {
        var wanted = new HashSet<string>();
        foreach (MethodDefinitionHandle handle in md.MethodDefinitions)
        {
            foreach (CustomAttributeHandle a in md.GetMethodDefinition(handle).GetCustomAttributes())
            {
                CustomAttribute attribute = md.GetCustomAttribute(a);
                if (names.Handle(attribute.Constructor).Contains("StateMachineAttribute::"))
                {
                    BlobReader value = md.GetBlobReader(attribute.Value);
                    value.Offset = 2;
                    wanted.Add((value.ReadSerializedString() ?? "").Split(',')[0].Replace('+', '/'));
                }
            }
        }
        return md.TypeDefinitions.Where(t => wanted.Contains(names.Handle(t).Replace("\\", ""))).ToHashSet();
    }

    /// <summary>Checks a body and tells whether it calls hooks; <paramref name="text"/> becomes what it is, without tokens.</summary>
    private bool Body(string name, MethodDefinitionHandle handle, int rva, MethodBodyBlock body, StringBuilder text)
    {
        int size = body.GetILReader().Length;
        bool fat = body.Size != size + 1 || body.MaxStack > 8 || !body.LocalSignature.IsNil || body.LocalVariablesInitialized;
        Must(!fat || rva % 4 == 0, $"{name}: a fat header at {rva:x}");
        Must(size > 0, $"{name}: no code");
        int locals = 0;
        if (!body.LocalSignature.IsNil)
        {
            ImmutableArray<string> types = md.GetStandaloneSignature(body.LocalSignature).DecodeLocalSignature(names, null);
            locals = types.Length;
            text.Append(string.Join(",", types));
        }
        text.Append(body.MaxStack).Append(body.LocalVariablesInitialized);
        MethodDefinition method = md.GetMethodDefinition(handle);
        MethodSignature<string> signature = method.DecodeSignature(names, null);
        int arguments = signature.ParameterTypes.Length + (signature.Header.IsInstance && !signature.Header.HasExplicitThis ? 1 : 0);
        var starts = new HashSet<int>();
        var targets = new List<int>();
        bool hooked = false;
        BlobReader il = body.GetILReader();
        OpCode last = OpCodes.Nop;
        var stack = new Stack(body, signature.ReturnType.Split(' ')[0] != "void");
        while (il.RemainingBytes > 0)
        {
            int at = il.Offset, firstTarget = targets.Count, token = 0;
            starts.Add(at);
            byte first = il.ReadByte();
            OpCode? known = first == 0xfe ? TwoBytes[il.ReadByte()] : OneByte[first];
            if (known == null)
            {
                Problems.Add($"{name}: no instruction at {il.Offset - 1:x}");
                return hooked;
            }
            OpCode code = last = known.Value;
            text.Append(code.Name).Append(' ');
            switch (code.OperandType)
            {
                case OperandType.InlineNone: break;
                case OperandType.ShortInlineBrTarget: targets.Add(Target(il.ReadSByte(), il.Offset, text)); break;
                case OperandType.InlineBrTarget: targets.Add(Target(il.ReadInt32(), il.Offset, text)); break;
                case OperandType.InlineSwitch:
                    int count = il.ReadInt32();
                    int from = il.Offset + 4 * count;
                    for (int i = 0; i < count; i++)
                    {
                        targets.Add(Target(il.ReadInt32(), from, text));
                    }
                    break;
                case OperandType.ShortInlineI: text.Append(il.ReadByte()); break;
                case OperandType.InlineI: text.Append(il.ReadInt32()); break;
                case OperandType.ShortInlineR: text.Append(il.ReadInt32()); break;
                case OperandType.InlineI8: case OperandType.InlineR: text.Append(il.ReadInt64()); break;
                case OperandType.ShortInlineVar: case OperandType.InlineVar:
                    int number = code.OperandType == OperandType.InlineVar ? il.ReadUInt16() : il.ReadByte();
                    text.Append(number);
                    Must(number < (code.Name.Contains("arg") ? arguments : locals), $"{name}: {code.Name} {number} at {il.Offset:x}");
                    break;
                case OperandType.InlineString:
                    text.Append(md.GetUserString(MetadataTokens.UserStringHandle(il.ReadInt32() & 0xffffff)));
                    break;
                default:
                    token = il.ReadInt32();
                    string told = names.Token(token);
                    hooked |= told.Contains("Weave.Runtime.Hooks::");
                    text.Append(told);
                    break;
            }
            text.Append('\n');
            stack.Step(at, code, token == 0 ? default : names.Effect(token), targets.Skip(firstTarget));
        }
        Must(stack.Deepest <= body.MaxStack, $"{name}: {stack.Deepest} values on a stack of {body.MaxStack}");
        Must(!stack.Under, $"{name}: the stack is empty when a value is taken");
        Must(targets.All(starts.Contains), $"{name}: a branch into the middle of an instruction");
        Must(last.FlowControl is FlowControl.Return or FlowControl.Throw or FlowControl.Branch || last == OpCodes.Jmp, $"{name}: the code ends in {last.Name}");
        Regions(name, body.ExceptionRegions, starts, size, text);
        bodies[MetadataTokens.GetRowNumber(handle)] = new Code { Size = size, Starts = starts, Locals = locals };
        return hooked;
    }

    /// <summary>How deep a body's stack becomes, by one pass: what ECMA-335 III.1.7.5 makes possible.</summary>
    private sealed class Stack
    {
        internal int Deepest;
        internal bool Under;
        private readonly Dictionary<int, int> known = new();
        private readonly bool returns;
        private int depth;
        private bool reached = true;

        internal Stack(MethodBodyBlock body, bool returns)
        {
            this.returns = returns;
            foreach (ExceptionRegion region in body.ExceptionRegions)
            {
                bool thrown = region.Kind is ExceptionRegionKind.Catch or ExceptionRegionKind.Filter;
                known[region.HandlerOffset] = thrown ? 1 : 0;
                if (region.Kind == ExceptionRegionKind.Filter)
                {
                    known[region.FilterOffset] = 1;
                }
            }
        }

        internal void Step(int at, OpCode code, (int pops, int pushes) call, IEnumerable<int> targets)
        {
            if (known.TryGetValue(at, out int before))
            {
                depth = before;
            }
            else if (!reached)
            {
                depth = 0;
            }
            Deepest = Math.Max(Deepest, depth);
            int pops = code.StackBehaviourPop switch
            {
                StackBehaviour.Pop0 => 0,
                StackBehaviour.Pop1 or StackBehaviour.Popi or StackBehaviour.Popref => 1,
                StackBehaviour.Pop1_pop1 or StackBehaviour.Popi_pop1 or StackBehaviour.Popi_popi or StackBehaviour.Popi_popi8
                    or StackBehaviour.Popi_popr4 or StackBehaviour.Popi_popr8 or StackBehaviour.Popref_pop1 or StackBehaviour.Popref_popi => 2,
                // These take what a call takes, or what the method returns; ret's value need not be there after a throw.
                StackBehaviour.Varpop => code == OpCodes.Ret ? (returns ? 1 : 0) : call.pops + (code == OpCodes.Calli ? 1 : code == OpCodes.Newobj ? -1 : 0),
                _ => 3,
            };
            int pushes = code.StackBehaviourPush switch
            {
                StackBehaviour.Push0 => 0,
                StackBehaviour.Push1_push1 => 2,
                StackBehaviour.Varpush => call.pushes,
                _ => 1,
            };
            depth -= pops;
            if (depth < 0)
            {
                Under = true;
                depth = 0;
            }
            depth += pushes;
            Deepest = Math.Max(Deepest, depth);
            bool leaves = code == OpCodes.Leave || code == OpCodes.Leave_S;
            foreach (int target in targets)
            {
                known.TryAdd(target, leaves ? 0 : depth);
            }
            reached = !(code.FlowControl is FlowControl.Return or FlowControl.Throw or FlowControl.Branch);
        }
    }

    private static int Target(int distance, int from, StringBuilder text)
    {
        text.Append(from + distance);
        return from + distance;
    }

    private void Regions(string name, ImmutableArray<ExceptionRegion> regions, HashSet<int> starts, int size, StringBuilder text)
    {
        bool Boundary(int at) => at == size || starts.Contains(at);
        for (int i = 0; i < regions.Length; i++)
        {
            ExceptionRegion r = regions[i];
            (int from, int to) tried = (r.TryOffset, r.TryOffset + r.TryLength), handler = (r.HandlerOffset, r.HandlerOffset + r.HandlerLength);
            text.Append($"{r.Kind} {tried} {handler} {(r.Kind == ExceptionRegionKind.Catch ? names.Handle(r.CatchType) : "")} {r.FilterOffset}\n");
            Must(r.TryLength > 0 && r.HandlerLength > 0 && Boundary(tried.from) && Boundary(tried.to) && Boundary(handler.from) && Boundary(handler.to),
                $"{name}: clause {i} {tried} {handler} is cut wrongly");
            Must(tried.to <= handler.from || handler.to <= tried.from, $"{name}: clause {i}: try and handler overlap");
            if (r.Kind == ExceptionRegionKind.Filter)
            {
                Must(starts.Contains(r.FilterOffset) && r.FilterOffset < handler.from, $"{name}: clause {i}: its filter is not before its handler");
            }
            for (int j = 0; j < i; j++)
            {
                ExceptionRegion o = regions[j];
                (int, int) before = (o.TryOffset, o.TryOffset + o.TryLength);
                foreach ((int, int) mine in new[] { tried, handler })
                {
                    foreach ((int, int) its in new[] { before, (o.HandlerOffset, o.HandlerOffset + o.HandlerLength) })
                    {
                        Must(Nested(mine, its), $"{name}: clauses {j} and {i} overlap: {its} {mine}");
                    }
                }
                // ECMA-335 II.19: the innermost comes first.
                Must(!(Inside(tried, before) && tried != before), $"{name}: clause {i} is within the try of clause {j}, which comes first");
            }
        }
    }

    private static bool Inside((int from, int to) inner, (int from, int to) outer) => outer.from <= inner.from && inner.to <= outer.to;

    private static bool Nested((int from, int to) a, (int from, int to) b) => a.to <= b.from || b.to <= a.from || Inside(a, b) || Inside(b, a);

    private void Resources()
    {
        DirectoryEntry directory = pe.PEHeaders.CorHeader.ResourcesDirectory;
        foreach (ManifestResourceHandle handle in md.ManifestResources)
        {
            ManifestResource resource = md.GetManifestResource(handle);
            string name = md.GetString(resource.Name), content = "";
            if (resource.Implementation.IsNil)
            {
                PEMemoryBlock block = pe.GetSectionData(directory.RelativeVirtualAddress);
                BlobReader data = block.GetReader((int)resource.Offset, block.Length - (int)resource.Offset);
                int size = data.ReadInt32();
                Must(resource.Offset + 4L + size <= directory.Size, $"resource {name} ends behind the resources");
                content = Hash(data.ReadBytes(size));
            }
            if (name != "Weave.Symbols")
            {
                facts.Add($"resource {name} {resource.Attributes} {content} {names.Handle(resource.Implementation)}" + Attributes(resource.GetCustomAttributes()));
            }
        }
    }

    private void Debug(byte[] bytes)
    {
        BlobContentId? codeView = null;
        DebugDirectoryEntry? embedded = null;
        (string, byte[])? checksum = null;
        string pdbPath = null;
        if (pe.PEHeaders.PEHeader.DebugTableDirectory.Size == 0)
        {
            return;
        }
        foreach (DebugDirectoryEntry entry in pe.ReadDebugDirectory())
        {
            Must(entry.DataSize == 0 || entry.DataPointer > 0 && entry.DataPointer + entry.DataSize <= bytes.Length, $"debug directory: {entry.Type} ends behind the file");
            if (entry.Type == DebugDirectoryEntryType.CodeView)
            {
                CodeViewDebugDirectoryData data = pe.ReadCodeViewDebugDirectoryData(entry);
                pdbPath = data.Path;
                if (entry.IsPortableCodeView)
                {
                    codeView = new BlobContentId(data.Guid, entry.Stamp);
                }
                facts.Add($"debug CodeView {data.Path}");
            }
            else if (entry.Type == DebugDirectoryEntryType.EmbeddedPortablePdb)
            {
                embedded = entry;
                facts.Add("debug embedded");
            }
            else if (entry.Type == DebugDirectoryEntryType.PdbChecksum)
            {
                PdbChecksumDebugDirectoryData data = pe.ReadPdbChecksumDebugDirectoryData(entry);
                checksum = (data.AlgorithmName, data.Checksum.ToArray());
                facts.Add($"debug checksum {data.AlgorithmName}");
            }
            else
            {
                facts.Add($"debug {entry.Type}");
            }
        }
        byte[] pdb = null;
        if (embedded is { } inside)
        {
            pdb = Inflated(bytes.AsSpan(inside.DataPointer, inside.DataSize).ToArray());
        }
        else if (codeView != null && pdbPath != null)
        {
            string beside = Path.ChangeExtension(path, ".pdb");
            pdb = File.Exists(beside) ? File.ReadAllBytes(beside) : null;
        }
        if (pdb == null || pdb.Length < 4 || pdb[0] != 'B' || pdb[1] != 'S' || pdb[2] != 'J' || pdb[3] != 'B')
        {
            return;
        }
        hasPdb = true;
        Part("PDB", () => Pdb(pdb, codeView, checksum));
    }

    private static byte[] Inflated(byte[] data)
    {
        if (BitConverter.ToUInt32(data, 0) != 0x4244504d)
        {
            throw new BadImageFormatException("an embedded PDB does not begin with MPDB");
        }
        var whole = new byte[BitConverter.ToInt32(data, 4)];
        using var deflate = new DeflateStream(new MemoryStream(data, 8, data.Length - 8), CompressionMode.Decompress);
        int at = 0, got;
        while (at < whole.Length && (got = deflate.Read(whole, at, whole.Length - at)) > 0)
        {
            at += got;
        }
        if (at != whole.Length || deflate.ReadByte() >= 0)
        {
            throw new BadImageFormatException("an embedded PDB does not have the size that it tells");
        }
        return whole;
    }

    private void Pdb(byte[] bytes, BlobContentId? codeView, (string algorithm, byte[] sum)? checksum)
    {
        using MetadataReaderProvider provider = MetadataReaderProvider.FromPortablePdbImage(ImmutableArray.Create(bytes));
        MetadataReader pdb = provider.GetMetadataReader();
        DebugMetadataHeader header = pdb.DebugMetadataHeader;
        var id = new BlobContentId(header.Id);
        Must(codeView == null || codeView.Value.Equals(id), "the CodeView entry's id is not the PDB's");
        Must(header.EntryPoint.IsNil || MetadataTokens.GetToken(header.EntryPoint) == pe.PEHeaders.CorHeader.EntryPointTokenOrRelativeVirtualAddress,
            "the PDB's entry point is not the assembly's");
        if (checksum is { } wanted)
        {
            byte[] blank = (byte[])bytes.Clone();
            Array.Clear(blank, header.IdStartOffset, 20);
            using HashAlgorithm hash = HashAlgorithm.Create(wanted.algorithm);
            Must(hash.ComputeHash(blank).SequenceEqual(wanted.sum), "the PDB's checksum is wrong");
        }
        int methods = pdb.GetTableRowCount(TableIndex.MethodDebugInformation);
        Must(methods == 0 || methods == md.GetTableRowCount(TableIndex.MethodDef), $"the PDB has {methods} methods of {md.GetTableRowCount(TableIndex.MethodDef)}");
        TypeSystemRows(bytes, pdb);
        foreach (DocumentHandle handle in pdb.Documents)
        {
            Document document = pdb.GetDocument(handle);
            ofPdb.Add($"document {pdb.GetString(document.Name)} {pdb.GetGuid(document.Language)} {pdb.GetGuid(document.HashAlgorithm)} {Hex(pdb.GetBlobBytes(document.Hash))}");
        }
        foreach (MethodDebugInformationHandle handle in pdb.MethodDebugInformation)
        {
            int row = MetadataTokens.GetRowNumber(handle);
            MethodDebugInformation method = pdb.GetMethodDebugInformation(handle);
            string name = names.Handle(MetadataTokens.MethodDefinitionHandle(row));
            bodies.TryGetValue(row, out Code body);
            var told = new StringBuilder();
            int last = -1;
            foreach (SequencePoint point in method.GetSequencePoints())
            {
                Must(body != null && point.Offset > last && body.Starts.Contains(point.Offset), $"{name}: a sequence point at {point.Offset:x} after {last:x} of {body?.Size:x}");
                last = point.Offset;
                // The weaver may hide what it adds.
                if (!point.IsHidden)
                {
                    told.Append($"{pdb.GetString(pdb.GetDocument(point.Document).Name)} {point.StartLine},{point.StartColumn}-{point.EndLine},{point.EndColumn} ");
                }
            }
            MethodDefinitionHandle kickoff = method.GetStateMachineKickoffMethod();
            if (!kickoff.IsNil)
            {
                told.Append("of ").Append(names.Handle(kickoff));
            }
            lines[name] = told.ToString();
            if (!method.LocalSignature.IsNil && body != null)
            {
                int count = md.GetStandaloneSignature(method.LocalSignature).DecodeLocalSignature(names, null).Length;
                Must(count == body.Locals, $"{name}: the PDB's local signature has {count} locals of {body.Locals}");
            }
        }
        var open = new Stack<(int method, int from, int to)>();
        (int, int, int) before = (0, 0, 0);
        foreach (LocalScopeHandle handle in pdb.LocalScopes)
        {
            LocalScope scope = pdb.GetLocalScope(handle);
            int row = MetadataTokens.GetRowNumber(scope.Method);
            string name = names.Handle(scope.Method);
            (int method, int from, int to) here = (row, scope.StartOffset, scope.EndOffset);
            (int, int, int) key = (row, scope.StartOffset, -scope.Length);
            Must(key.CompareTo(before) >= 0, $"{name}: local scopes are not sorted");
            before = key;
            if (!bodies.TryGetValue(row, out Code body))
            {
                Problems.Add($"{name}: a local scope, but no body");
                continue;
            }
            Must(scope.Length > 0 && (body.Starts.Contains(here.from)) && (here.to == body.Size || body.Starts.Contains(here.to)), $"{name}: a local scope {here.from:x}-{here.to:x} of {body.Size:x}");
            while (open.Count > 0 && (open.Peek().method != row || open.Peek().to <= here.from))
            {
                open.Pop();
            }
            Must(open.Count == 0 || here.to <= open.Peek().to, $"{name}: local scopes overlap");
            open.Push(here);
            var told = new StringBuilder(locals.TryGetValue(name, out string already) ? already : "");
            told.Append($" ({Imports(pdb, scope.ImportScope)})");
            foreach (LocalVariableHandle v in scope.GetLocalVariables())
            {
                LocalVariable variable = pdb.GetLocalVariable(v);
                Must(variable.Index < body.Locals, $"{name}: local {pdb.GetString(variable.Name)} has slot {variable.Index} of {body.Locals}");
                told.Append($" {variable.Index} {variable.Attributes} {pdb.GetString(variable.Name)}");
            }
            foreach (LocalConstantHandle c in scope.GetLocalConstants())
            {
                LocalConstant constant = pdb.GetLocalConstant(c);
                told.Append($" {pdb.GetString(constant.Name)} {Hash(pdb.GetBlobBytes(constant.Signature))}");
            }
            locals[name] = told.ToString();
        }
        foreach (ImportScopeHandle handle in pdb.ImportScopes)
        {
            ofPdb.Add($"imports {Imports(pdb, handle)}");
        }
        foreach (CustomDebugInformationHandle handle in pdb.CustomDebugInformation)
        {
            CustomDebugInformation info = pdb.GetCustomDebugInformation(handle);
            Guid kind = pdb.GetGuid(info.Kind);
            BlobReader value = pdb.GetBlobReader(info.Value);
            string parent = info.Parent.Kind == HandleKind.MethodDefinition ? names.Handle(info.Parent) : info.Parent.Kind.ToString();
            bodies.TryGetValue(info.Parent.Kind == HandleKind.MethodDefinition ? MetadataTokens.GetRowNumber(info.Parent) : 0, out Code body);
            if (kind == Hoisted)
            {
                for (; value.RemainingBytes > 0;)
                {
                    uint from = value.ReadUInt32(), length = value.ReadUInt32();
                    Must(from == 0 && length == 0 || body != null && body.Starts.Contains((int)from) && from + length <= body.Size,
                        $"{parent}: a hoisted local's scope {from:x}+{length:x} of {body?.Size:x}");
                }
            }
            else if (kind == Stepping)
            {
                uint caught = value.ReadUInt32();
                Must(body != null && (caught == 0 || body.Starts.Contains((int)caught - 1)), $"{parent}: async stepping names a catch at {caught:x}");
                while (value.RemainingBytes > 0)
                {
                    uint from = value.ReadUInt32(), to = value.ReadUInt32();
                    int method = value.ReadCompressedInteger();
                    Must(body != null && body.Starts.Contains((int)from) && bodies.TryGetValue(method, out Code target) && target.Starts.Contains((int)to),
                        $"{parent}: async stepping from {from:x} to {to:x}");
                }
            }
            else
            {
                ofPdb.Add($"custom debug information {kind} {parent} {Hash(pdb.GetBlobBytes(info.Value))}");
            }
        }
    }

    private static string Imports(MetadataReader pdb, ImportScopeHandle handle)
    {
        if (handle.IsNil)
        {
            return "";
        }
        ImportScope scope = pdb.GetImportScope(handle);
        return (scope.Parent.IsNil || MetadataTokens.GetRowNumber(scope.Parent) >= MetadataTokens.GetRowNumber(handle) ? "" : Imports(pdb, scope.Parent) + "; ")
            + Hash(pdb.GetBlobBytes(scope.ImportsBlob));
    }

    // Portable PDB format: state machine hoisted local scopes, and async method stepping information.
    private static readonly Guid Hoisted = new("6DA9A61E-F8C7-4874-BE62-68BC5630DF71"), Stepping = new("54FD2AC5-E925-401A-9C2A-F94F171072F8");

    /// <summary>The row counts that the stream <c>#Pdb</c> repeats are the assembly's.</summary>
    private void TypeSystemRows(byte[] bytes, MetadataReader pdb)
    {
        int at = pdb.DebugMetadataHeader.IdStartOffset + 24;
        ulong tables = BitConverter.ToUInt64(bytes, at);
        at += 8;
        for (int table = 0; table < 64; table++)
        {
            if ((tables >> table & 1) != 0)
            {
                int rows = BitConverter.ToInt32(bytes, at), actual = md.GetTableRowCount((TableIndex)table);
                Must(rows == actual, $"#Pdb tells {rows} rows of {(TableIndex)table}, which has {actual}");
                at += 4;
            }
        }
    }

    /// <summary>What differs, but for what weaving may change.</summary>
    internal static List<string> Compare(Reader before, Reader after)
    {
        var told = new List<string>();
        var left = new Dictionary<string, int>();
        // Of a PDB that cannot be read to its end not all is known.
        bool all = !before.Problems.Any(p => p.StartsWith("PDB: ", StringComparison.Ordinal));
        foreach (string fact in before.facts.Concat(before.ofPdb.Where(_ => all)))
        {
            left[fact] = left.GetValueOrDefault(fact) + 1;
        }
        foreach (string fact in after.facts.Concat(after.ofPdb.Where(_ => all)))
        {
            if (left.GetValueOrDefault(fact) == 0)
            {
                told.Add($"only woven: {fact}");
            }
            else
            {
                left[fact]--;
            }
        }
        told.AddRange(left.Where(l => l.Value > 0).Select(l => $"only unwoven: {l.Key}"));
        foreach (KeyValuePair<string, string> body in after.plain)
        {
            if (before.plain.TryGetValue(body.Key, out string was) && was != body.Value)
            {
                told.Add($"{body.Key}: not hooked, but changed");
            }
        }
        if (before.hasPdb && after.hasPdb)
        {
            told.AddRange(before.lines.Where(l => after.lines.GetValueOrDefault(l.Key) != l.Value).Select(l => $"{l.Key}: other lines: {after.lines.GetValueOrDefault(l.Key)} instead of {l.Value}"));
            told.AddRange(before.locals.Where(l => after.locals.GetValueOrDefault(l.Key) != l.Value).Select(l => $"{l.Key}: other locals: {after.locals.GetValueOrDefault(l.Key)} instead of {l.Value}"));
        }
        else if (before.hasPdb)
        {
            told.Add("the PDB is lost");
        }
        return told;
    }

    private static string Hex(byte[] bytes) => BitConverter.ToString(bytes).Replace("-", "");

    private static string Hash(ReadOnlySpan<byte> bytes)
    {
        using var sha = SHA256.Create();
        return bytes.Length <= 16 ? Hex(bytes.ToArray()) : Hex(sha.ComputeHash(bytes.ToArray())).Substring(0, 24);
    }
}

/// <summary>Names in place of handles and in signatures.</summary>
internal sealed class Names : ISignatureTypeProvider<string, object>
{
    private readonly MetadataReader md;
    private readonly Dictionary<EntityHandle, string> known = new();

    internal Names(MetadataReader md)
    {
        this.md = md;
    }

    private readonly Dictionary<int, (int, int)> effects = new();

    /// <summary>How many values a call takes and gives.</summary>
    internal (int pops, int pushes) Effect(int token)
    {
        if (effects.TryGetValue(token, out (int, int) known))
        {
            return known;
        }
        EntityHandle handle = MetadataTokens.EntityHandle(token);
        if (handle.Kind == HandleKind.MethodSpecification)
        {
            handle = md.GetMethodSpecification((MethodSpecificationHandle)handle).Method;
        }
        BlobHandle blob = handle.Kind switch
        {
            HandleKind.MethodDefinition => md.GetMethodDefinition((MethodDefinitionHandle)handle).Signature,
            HandleKind.MemberReference => md.GetMemberReference((MemberReferenceHandle)handle).Signature,
            HandleKind.StandaloneSignature => md.GetStandaloneSignature((StandaloneSignatureHandle)handle).Signature,
            _ => default,
        };
        (int, int) effect = (0, 0);
        if (!blob.IsNil)
        {
            BlobReader reader = md.GetBlobReader(blob);
            SignatureHeader header = reader.ReadSignatureHeader();
            if (header.Kind == SignatureKind.Method)
            {
                if (header.IsGeneric)
                {
                    reader.ReadCompressedInteger();
                }
                int count = reader.ReadCompressedInteger();
                string returned = new SignatureDecoder<string, object>(this, md, null).DecodeType(ref reader);
                effect = (count + (header.IsInstance && !header.HasExplicitThis ? 1 : 0), returned.Split(' ')[0] == "void" ? 0 : 1);
            }
        }
        return effects[token] = effect;
    }

    internal string Token(int token)
    {
        return token == 0 ? "" : Handle(MetadataTokens.EntityHandle(token));
    }

    internal string Handle(EntityHandle handle)
    {
        if (handle.IsNil)
        {
            return "";
        }
        if (!known.TryGetValue(handle, out string name))
        {
            known[handle] = null;
            known[handle] = name = Named(handle);
        }
        return name ?? throw new BadImageFormatException($"a {handle.Kind} that is part of itself");
    }

    private string Named(EntityHandle handle)
    {
        switch (handle.Kind)
        {
            case HandleKind.TypeDefinition:
                TypeDefinition type = md.GetTypeDefinition((TypeDefinitionHandle)handle);
                TypeDefinitionHandle outer = type.GetDeclaringType();
                string own = md.GetString(type.Name), space = md.GetString(type.Namespace);
                return outer.IsNil ? (space == "" ? own : space + "." + own) : Handle(outer) + "/" + own;
            case HandleKind.TypeReference:
                TypeReference reference = md.GetTypeReference((TypeReferenceHandle)handle);
                EntityHandle scope = reference.ResolutionScope;
                string of = md.GetString(reference.Namespace) is { Length: > 0 } s ? s + "." + md.GetString(reference.Name) : md.GetString(reference.Name);
                return scope.Kind == HandleKind.TypeReference ? Handle(scope) + "/" + of : $"[{(scope.Kind == HandleKind.ModuleDefinition ? "." : Handle(scope))}]{of}";
            case HandleKind.TypeSpecification:
                return md.GetTypeSpecification((TypeSpecificationHandle)handle).DecodeSignature(this, null);
            case HandleKind.MethodDefinition:
                MethodDefinition method = md.GetMethodDefinition((MethodDefinitionHandle)handle);
                return Handle(method.GetDeclaringType()) + "::" + md.GetString(method.Name) + Signature(method.DecodeSignature(this, null));
            case HandleKind.FieldDefinition:
                FieldDefinition field = md.GetFieldDefinition((FieldDefinitionHandle)handle);
                return Handle(field.GetDeclaringType()) + "::" + md.GetString(field.Name);
            case HandleKind.MemberReference:
                MemberReference member = md.GetMemberReference((MemberReferenceHandle)handle);
                string parent = Handle(member.Parent) + "::" + md.GetString(member.Name);
                return member.GetKind() == MemberReferenceKind.Field
                    ? parent + " " + member.DecodeFieldSignature(this, null)
                    : parent + Signature(member.DecodeMethodSignature(this, null));
            case HandleKind.MethodSpecification:
                MethodSpecification made = md.GetMethodSpecification((MethodSpecificationHandle)handle);
                return Handle(made.Method) + "<" + string.Join(",", made.DecodeSignature(this, null)) + ">";
            case HandleKind.StandaloneSignature:
                StandaloneSignature alone = md.GetStandaloneSignature((StandaloneSignatureHandle)handle);
                // Compilers make such a row of a constant's type, too, its signature that of a field (6).
                return md.GetBlobReader(alone.Signature).ReadByte() == 6 ? "field"
                    : alone.GetKind() == StandaloneSignatureKind.Method ? Signature(alone.DecodeMethodSignature(this, null))
                    : string.Join(",", alone.DecodeLocalSignature(this, null));
            case HandleKind.AssemblyReference:
                return md.GetString(md.GetAssemblyReference((AssemblyReferenceHandle)handle).Name);
            case HandleKind.ModuleReference:
                return "module " + md.GetString(md.GetModuleReference((ModuleReferenceHandle)handle).Name);
            case HandleKind.ExportedType:
                return "exported " + md.GetString(md.GetExportedType((ExportedTypeHandle)handle).Name);
            case HandleKind.AssemblyFile:
                return "file " + md.GetString(md.GetAssemblyFile((AssemblyFileHandle)handle).Name);
            default:
                throw new BadImageFormatException($"a {handle.Kind} where none can be");
        }
    }

    private static string Signature(MethodSignature<string> s)
    {
        return $"{s.Header}{(s.GenericParameterCount > 0 ? "`" + s.GenericParameterCount : "")}({string.Join(",", s.ParameterTypes)}){s.ReturnType}@{s.RequiredParameterCount}";
    }

    public string GetArrayType(string elementType, ArrayShape shape) =>
        $"{elementType}[{shape.Rank};{string.Join(",", shape.Sizes)};{string.Join(",", shape.LowerBounds)}]";

    public string GetByReferenceType(string elementType) => elementType + "&";

    public string GetFunctionPointerType(MethodSignature<string> signature) => "*" + Signature(signature);

    public string GetGenericInstantiation(string genericType, ImmutableArray<string> typeArguments) => $"{genericType}<{string.Join(",", typeArguments)}>";

    public string GetGenericMethodParameter(object genericContext, int index) => "!!" + index;

    public string GetGenericTypeParameter(object genericContext, int index) => "!" + index;

    public string GetModifiedType(string modifier, string unmodifiedType, bool isRequired) => $"{unmodifiedType} {(isRequired ? "modreq" : "modopt")}({modifier})";

    public string GetPinnedType(string elementType) => elementType + " pinned";

    public string GetPointerType(string elementType) => elementType + "*";

    public string GetPrimitiveType(PrimitiveTypeCode typeCode) => typeCode switch
    {
        PrimitiveTypeCode.Boolean => "bool",
        PrimitiveTypeCode.Byte => "uint8",
        PrimitiveTypeCode.SByte => "int8",
        PrimitiveTypeCode.Single => "float32",
        PrimitiveTypeCode.Double => "float64",
        _ => typeCode.ToString().ToLowerInvariant(),
    };

    public string GetSZArrayType(string elementType) => elementType + "[]";

    public string GetTypeFromDefinition(MetadataReader reader, TypeDefinitionHandle handle, byte rawTypeKind) => (rawTypeKind == 0x11 ? "value " : "") + Handle(handle);

    public string GetTypeFromReference(MetadataReader reader, TypeReferenceHandle handle, byte rawTypeKind) => (rawTypeKind == 0x11 ? "value " : "") + Handle(handle);

    public string GetTypeFromSpecification(MetadataReader reader, object genericContext, TypeSpecificationHandle handle, byte rawTypeKind) => Handle(handle);
}
