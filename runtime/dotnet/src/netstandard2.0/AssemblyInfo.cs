using System.Runtime.Versioning;

[assembly: TargetFramework(".NETStandard,Version=v2.0", FrameworkDisplayName = "")]
