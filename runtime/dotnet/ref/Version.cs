#if NET8_0_OR_GREATER
[assembly: System.Reflection.AssemblyVersion("8.0.0.0")]
#else
[assembly: System.Reflection.AssemblyVersion("2.0.0.0")]
#endif
