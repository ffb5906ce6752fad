using System.Reflection;

[assembly: AssemblyTitle("Weave.Runtime")]
[assembly: AssemblyDescription("The hooks that woven .NET code calls")]
[assembly: AssemblyProduct("Weave")]
// Woven assemblies refer to this version by a strong name: it stays as it is.
[assembly: AssemblyVersion("1.0.0.0")]
[assembly: AssemblyFileVersion("1.0.0.0")]
[assembly: AssemblyInformationalVersion("1.0.0")]
[assembly: AssemblyMetadata("IsTrimmable", "True")]
