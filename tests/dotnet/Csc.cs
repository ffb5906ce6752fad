using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.Emit;
using Microsoft.CodeAnalysis.Text;

/// <summary>
/// The C# compiler's command line over Roslyn's assemblies: the options of csc, but for analyzers and
/// resources of Win32. Without <c>/nostdlib</c> every assembly of the runtime that it runs on is referenced.
/// Compiled by Mono's mcs (C# 7) first, and then by itself.
/// </summary>
public static class Csc
{
    public static int Main(string[] args)
    {
        if (args.Length == 0)
        {
            Console.Error.WriteLine("use: csc OPTIONS SOURCES, as the C# compiler takes them");
            return 2;
        }
        string runtime = Path.GetDirectoryName(typeof(object).Assembly.Location);
        string current = Directory.GetCurrentDirectory();
        var given = args.Where(a => a != "-shared" && a != "/shared").Concat(new[] { "/nosdkpath" });
        CSharpCommandLineArguments line = CSharpCommandLineParser.Default.Parse(given, current, null, null);
        var errors = new List<Diagnostic>(line.Errors);

        Encoding utf8 = new UTF8Encoding(false);
        var trees = new List<SyntaxTree>();
        var embedded = new List<EmbeddedText>();
        var embed = new HashSet<string>(line.EmbeddedFiles.Select(f => f.Path));
        foreach (CommandLineSourceFile file in line.SourceFiles)
        {
            if (!File.Exists(file.Path))
            {
                Console.Out.WriteLine("error CS2001: Source file '" + file.Path + "' could not be found.");
                return 1;
            }
            using (FileStream stream = File.OpenRead(file.Path))
            {
                SourceText text = SourceText.From(stream, line.Encoding ?? utf8, line.ChecksumAlgorithm, false, embed.Contains(file.Path));
                trees.Add(CSharpSyntaxTree.ParseText(text, line.ParseOptions, Mapped(line, file.Path)));
                if (embed.Contains(file.Path))
                {
                    embedded.Add(EmbeddedText.FromSource(Mapped(line, file.Path), text));
                }
            }
        }

        var references = new List<MetadataReference>();
        bool standard = !args.Any(a => a.TrimStart('-', '/') == "nostdlib" || a.TrimStart('-', '/') == "nostdlib+");
        if (standard)
        {
            foreach (string path in Directory.GetFiles(runtime, "*.dll").OrderBy(p => p, StringComparer.Ordinal))
            {
                if (Path.GetFileName(path) != "System.Private.CoreLib.dll" && Managed(path))
                {
                    references.Add(MetadataReference.CreateFromFile(path));
                }
            }
            string core = Path.Combine(runtime, "System.Private.CoreLib.dll");
            references.Add(MetadataReference.CreateFromFile(core));
        }
        foreach (CommandLineReference wanted in line.MetadataReferences)
        {
            string path = new[] { current }
                .Concat(line.ReferencePaths)
                .Concat(new[] { runtime })
                .Select(folder => Path.Combine(folder, wanted.Reference))
                .FirstOrDefault(File.Exists);
            if (path == null)
            {
                Console.Error.WriteLine("error CS0006: Metadata file '" + wanted.Reference + "' could not be found");
                return 1;
            }
            references.Add(MetadataReference.CreateFromFile(path, wanted.Properties));
        }

        // As csc does: an assembly's newer version in place of the one that is asked for is no news.
        var known = new[] { "CS1701", "CS1702" }.Where(id => !line.CompilationOptions.SpecificDiagnosticOptions.ContainsKey(id))
            .Select(id => new KeyValuePair<string, ReportDiagnostic>(id, ReportDiagnostic.Suppress));
        CSharpCompilationOptions options = line.CompilationOptions
            .WithSpecificDiagnosticOptions(line.CompilationOptions.SpecificDiagnosticOptions.Concat(known))
            .WithStrongNameProvider(new DesktopStrongNameProvider(line.KeyFileSearchPaths))
            .WithSourceReferenceResolver(new SourceFileResolver(line.SourcePaths, current, line.PathMap))
            .WithAssemblyIdentityComparer(DesktopAssemblyIdentityComparer.Default);
        CSharpCompilation compilation = CSharpCompilation.Create(line.CompilationName, trees, references, options);
        string output = line.OutputFileName;
        if (output == null)
        {
            IMethodSymbol entry = compilation.GetEntryPoint(default(System.Threading.CancellationToken));
            SyntaxReference where = entry == null ? null : entry.DeclaringSyntaxReferences.FirstOrDefault();
            string source = where == null ? line.SourceFiles[0].Path : where.SyntaxTree.FilePath;
            output = Path.GetFileNameWithoutExtension(source) + (options.OutputKind.IsApplication() ? ".exe" : ".dll");
            compilation = compilation.WithAssemblyName(Path.GetFileNameWithoutExtension(output));
        }
        string target = Path.Combine(line.OutputDirectory, output);
        string symbols = line.EmitPdb && line.EmitOptions.DebugInformationFormat != DebugInformationFormat.Embedded
            ? line.PdbPath ?? Path.ChangeExtension(target, ".pdb")
            : null;
        EmitOptions emit = line.EmitOptions.WithOutputNameOverride(Path.GetFileName(output));
        if (symbols != null)
        {
            emit = emit.WithPdbFilePath(Path.GetFileName(symbols));
        }
        else if (line.EmitPdb)
        {
            emit = emit.WithPdbFilePath(Path.ChangeExtension(Path.GetFileName(output), ".pdb"));
        }

        EmitResult result = null;
        var image = new MemoryStream();
        var pdb = symbols == null ? null : new MemoryStream();
        var documents = line.DocumentationPath == null ? null : new MemoryStream();
        if (!errors.Any(e => e.Severity == DiagnosticSeverity.Error))
        {
            result = compilation.Emit(image, pdb, documents, null, line.ManifestResources, emit, null, null, embedded, default(System.Threading.CancellationToken));
            errors.AddRange(result.Diagnostics);
        }
        DiagnosticFormatter formatter = CSharpDiagnosticFormatter.Instance;
        foreach (Diagnostic told in errors)
        {
            bool warning = told.Severity == DiagnosticSeverity.Warning;
            if (told.Severity == DiagnosticSeverity.Error || warning && !told.IsSuppressed)
            {
                Console.Out.WriteLine(formatter.Format(told));
            }
        }
        if (result == null || !result.Success)
        {
            return 1;
        }
        File.WriteAllBytes(target, image.ToArray());
        if (pdb != null)
        {
            File.WriteAllBytes(symbols, pdb.ToArray());
        }
        if (documents != null)
        {
            File.WriteAllBytes(line.DocumentationPath, documents.ToArray());
        }
        return 0;
    }

    private static bool IsApplication(this OutputKind kind)
    {
        return kind == OutputKind.ConsoleApplication || kind == OutputKind.WindowsApplication;
    }

    private static string Mapped(CSharpCommandLineArguments line, string path)
    {
        foreach (KeyValuePair<string, string> map in line.PathMap)
        {
            if (path.StartsWith(map.Key, StringComparison.Ordinal))
            {
                return map.Value + path.Substring(map.Key.Length);
            }
        }
        return path;
    }

    private static bool Managed(string path)
    {
        using (FileStream stream = File.OpenRead(path))
        using (var reader = new System.Reflection.PortableExecutable.PEReader(stream))
        {
            try
            {
                return reader.HasMetadata;
            }
            catch (BadImageFormatException)
            {
                return false;
            }
        }
    }
}
