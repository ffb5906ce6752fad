using System.Reflection;
using System.Runtime.Versioning;

[assembly: TargetFramework(".NETCoreApp,Version=v8.0", FrameworkDisplayName = "")]
[assembly: AssemblyMetadata("IsAotCompatible", "True")]
