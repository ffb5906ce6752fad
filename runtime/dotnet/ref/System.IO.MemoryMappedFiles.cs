namespace System.IO.MemoryMappedFiles
{
    public enum MemoryMappedFileAccess { ReadWrite = 0 }

    public class MemoryMappedFile : IDisposable
    {
        public static MemoryMappedFile CreateFromFile(FileStream fileStream, string mapName, long capacity,
            MemoryMappedFileAccess access, HandleInheritability inheritability, bool leaveOpen) { throw null; }
#if NET8_0_OR_GREATER
        public static MemoryMappedFile CreateFromFile(Microsoft.Win32.SafeHandles.SafeFileHandle fileHandle, string mapName, long capacity,
            MemoryMappedFileAccess access, HandleInheritability inheritability, bool leaveOpen) { throw null; }
#endif
        public MemoryMappedViewAccessor CreateViewAccessor(long offset, long size, MemoryMappedFileAccess access) { throw null; }
        public void Dispose() { }
    }

    public sealed class MemoryMappedViewAccessor
    {
        public long PointerOffset { get { throw null; } }
        public Microsoft.Win32.SafeHandles.SafeMemoryMappedViewHandle SafeMemoryMappedViewHandle { get { throw null; } }
    }
}

namespace Microsoft.Win32.SafeHandles
{
    public sealed class SafeMemoryMappedViewHandle : System.Runtime.InteropServices.SafeBuffer { }
}
