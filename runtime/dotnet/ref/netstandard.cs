// What the hook library uses of .NET Standard 2.0, as signatures alone: its reference assembly, so that it is compiled
// against nothing else and runs on every host that has a facade of this name. Bodies never run.

[assembly: System.Reflection.AssemblyVersion("2.0.0.0")]

namespace System
{
    public class Object
    {
        public Object() { }
        public static bool ReferenceEquals(object a, object b) { throw null; }
        public virtual bool Equals(object o) { throw null; }
        public virtual int GetHashCode() { throw null; }
        public Type GetType() { throw null; }
        public virtual string ToString() { throw null; }
    }

    public abstract class ValueType { }
    public abstract class Enum : ValueType { }
    public struct Void { }
    public struct Boolean { }
    public struct SByte { }
    public struct Int16 { }
    public struct UInt16 { }
    public struct UInt32 { }
    public struct UInt64 { }
    public struct Single { }
    public struct Double { }
    public struct UIntPtr { }
    public struct Byte { }

    public struct Char
    {
        public static char ToLowerInvariant(char c) { throw null; }
        public override string ToString() { throw null; }
    }

    public struct Int32
    {
        public const int MaxValue = 0x7FFFFFFF;
        public override string ToString() { throw null; }
        public string ToString(IFormatProvider provider) { throw null; }
    }

    public struct Int64
    {
        public const long MaxValue = 0x7FFFFFFFFFFFFFFF;
        public string ToString(IFormatProvider provider) { throw null; }
        public static bool TryParse(string s, Globalization.NumberStyles style, IFormatProvider provider, out long result) { throw null; }
    }

    public struct IntPtr
    {
        public static unsafe explicit operator IntPtr(void* value) { throw null; }
        public static unsafe explicit operator void*(IntPtr value) { throw null; }
    }

    public struct TimeSpan
    {
        public long Ticks { get { throw null; } }
    }

    public struct Guid
    {
        public override string ToString() { throw null; }
    }

    public struct DateTime
    {
        public DateTime(int year, int month, int day) { throw null; }
        public static DateTime UtcNow { get { throw null; } }
        public long Ticks { get { throw null; } }
        public string ToString(string format, IFormatProvider provider) { throw null; }
    }

    public sealed class String
    {
        public int Length { get { throw null; } }
        [Runtime.CompilerServices.IndexerName("Chars")]
        public char this[int index] { get { throw null; } }
        public static string Concat(string a, string b) { throw null; }
        public bool Contains(string value) { throw null; }
        public bool StartsWith(string value, StringComparison comparison) { throw null; }
        public string[] Split(params char[] separator) { throw null; }
        public string Trim() { throw null; }
        public string TrimEnd(params char[] characters) { throw null; }
        public static string Concat(string a, string b, string c) { throw null; }
        public static string Concat(string a, string b, string c, string d) { throw null; }
        public static string Concat(params string[] values) { throw null; }
        public bool EndsWith(string value, StringComparison comparison) { throw null; }
        public static bool Equals(string a, string b, StringComparison comparison) { throw null; }
        public static bool operator ==(string a, string b) { throw null; }
        public static bool operator !=(string a, string b) { throw null; }
        public int IndexOf(char value) { throw null; }
        public static bool IsNullOrEmpty(string value) { throw null; }
        public string Replace(char from, char to) { throw null; }
        public string Replace(string from, string to) { throw null; }
        public string Substring(int start) { throw null; }
        public string Substring(int start, int length) { throw null; }
        public string ToUpperInvariant() { throw null; }
    }

    public enum StringComparison
    {
        Ordinal = 4,
        OrdinalIgnoreCase = 5,
    }

    public abstract class Array
    {
        public int Length { get { throw null; } }
        public static void Copy(Array from, Array to, int length) { throw null; }
    }

    public abstract class Delegate
    {
        public static Delegate CreateDelegate(Type type, Type target, string method, bool ignoreCase, bool throwOnBindFailure) { throw null; }
    }

    public abstract class MulticastDelegate : Delegate { }
    public delegate TResult Func<out TResult>();
    public delegate TResult Func<in T, out TResult>(T arg);

    public abstract class Type
    {
        public static Type GetTypeFromHandle(RuntimeTypeHandle handle) { throw null; }
        public Reflection.PropertyInfo GetProperty(string name) { throw null; }
        public virtual Reflection.Assembly Assembly { get { throw null; } }
    }

    public struct RuntimeTypeHandle { }
    public interface IDisposable { void Dispose(); }
    public interface IFormatProvider { }
    public class EventArgs { }
    public delegate void EventHandler(object sender, EventArgs e);

    public class AssemblyLoadEventArgs : EventArgs
    {
        public Reflection.Assembly LoadedAssembly { get { throw null; } }
    }

    public delegate void AssemblyLoadEventHandler(object sender, AssemblyLoadEventArgs e);

    public class UnhandledExceptionEventArgs : EventArgs
    {
        public object ExceptionObject { get { throw null; } }
        public bool IsTerminating { get { throw null; } }
    }

    public delegate void UnhandledExceptionEventHandler(object sender, UnhandledExceptionEventArgs e);

    public class Exception
    {
        public Exception() { }
        public virtual string Message { get { throw null; } }
    }

    public class SystemException : Exception { }

    public sealed class WeakReference<T> where T : class
    {
        public WeakReference(T target) { }
        public bool TryGetTarget(out T target) { throw null; }
        public void SetTarget(T target) { throw null; }
    }

    public static class Math
    {
        public static int Max(int a, int b) { throw null; }
        public static int Min(int a, int b) { throw null; }
        public static long Min(long a, long b) { throw null; }
        public static long Max(long a, long b) { throw null; }
    }

    public static class Environment
    {
        public static string CommandLine { get { throw null; } }
        public static long WorkingSet { get { throw null; } }
        public static string MachineName { get { throw null; } }
        public static string NewLine { get { throw null; } }
        public static string GetEnvironmentVariable(string name) { throw null; }
    }

    public static class GC
    {
        public static int CollectionCount(int generation) { throw null; }
        public static long GetTotalMemory(bool forceFullCollection) { throw null; }
    }

    public static class BitConverter
    {
        public static readonly bool IsLittleEndian;
        public static long ToInt64(byte[] bytes, int start) { throw null; }
    }

    public static class Console
    {
        public static IO.TextWriter Error { get { throw null; } }
    }

    public sealed class AppDomain
    {
        public static AppDomain CurrentDomain { get { throw null; } }
        public object GetData(string name) { throw null; }
        public void SetData(string name, object data) { }
        public Reflection.Assembly[] GetAssemblies() { throw null; }
        public bool IsDefaultAppDomain() { throw null; }
        public event AssemblyLoadEventHandler AssemblyLoad { add { } remove { } }
        public event EventHandler DomainUnload { add { } remove { } }
        public event EventHandler ProcessExit { add { } remove { } }
        public event UnhandledExceptionEventHandler UnhandledException { add { } remove { } }
    }

    public abstract class Attribute { }

    public enum AttributeTargets { All = 32767 }

    public sealed class AttributeUsageAttribute : Attribute
    {
        public AttributeUsageAttribute(AttributeTargets on) { }
        public bool AllowMultiple { get; set; }
        public bool Inherited { get; set; }
    }

    public sealed class ParamArrayAttribute : Attribute { }
    public sealed class ThreadStaticAttribute : Attribute { }
    public sealed class FlagsAttribute : Attribute { }
}

namespace System.Collections
{
    public interface IEnumerator
    {
        object Current { get; }
        bool MoveNext();
    }

    public interface IEnumerable { IEnumerator GetEnumerator(); }
}

namespace System.Collections.Generic
{
    public class List<T>
    {
        public List() { }
        public int Count { get { throw null; } }
        public T this[int index] { get { throw null; } set { } }
        public void Add(T item) { }
        public void Insert(int index, T item) { }
        public void RemoveAt(int index) { }
        public void RemoveRange(int index, int count) { }
    }
}

namespace System.Diagnostics
{
    public sealed class DebuggerStepThroughAttribute : Attribute { }

    public class Stopwatch
    {
        public static readonly long Frequency;
        public static long GetTimestamp() { throw null; }
    }

    public class Process : IDisposable
    {
        public int Id { get { throw null; } }
        public TimeSpan TotalProcessorTime { get { throw null; } }
        public static Process GetCurrentProcess() { throw null; }
        public void Dispose() { }
    }
}

namespace System.Globalization
{
    public enum NumberStyles { None = 0 }

    public class CultureInfo : IFormatProvider
    {
        public static CultureInfo InvariantCulture { get { throw null; } }
    }
}

namespace System.IO
{
    public class IOException : SystemException
    {
        public IOException(string message) { }
    }

    public enum FileMode { CreateNew = 1, Open = 3 }
    public enum FileAccess { Read = 1, Write = 2, ReadWrite = 3 }

    [Flags]
    public enum FileShare { Read = 1, Write = 2, ReadWrite = 3, Delete = 4 }

    public enum SeekOrigin { Begin = 0 }
    public enum HandleInheritability { None = 0 }

    public abstract class Stream : IDisposable
    {
        public abstract long Length { get; }
        public abstract int Read(byte[] buffer, int offset, int count);
        public abstract void Write(byte[] buffer, int offset, int count);
        public abstract void Flush();
        public abstract long Seek(long offset, SeekOrigin origin);
        public abstract void SetLength(long value);
        public virtual int ReadByte() { throw null; }
        public void Dispose() { }
    }

    public class FileStream : Stream
    {
        public FileStream(string path, FileMode mode, FileAccess access, FileShare share) { }
        public FileStream(string path, FileMode mode, FileAccess access, FileShare share, int bufferSize) { }
        public override long Length { get { throw null; } }
        public override int Read(byte[] buffer, int offset, int count) { throw null; }
        public override void Write(byte[] buffer, int offset, int count) { }
        public override void Flush() { }
        public override long Seek(long offset, SeekOrigin origin) { throw null; }
        public override void SetLength(long value) { }
        public virtual void Lock(long position, long length) { }
    }

    public abstract class TextWriter
    {
        public virtual void WriteLine(string value) { }
    }

    public static class File
    {
        public static bool Exists(string path) { throw null; }
        public static void Delete(string path) { }
        public static DateTime GetLastWriteTimeUtc(string path) { throw null; }
        public static string[] ReadAllLines(string path) { throw null; }
        public static string ReadAllText(string path) { throw null; }
    }

    public sealed class DirectoryInfo { }

    public sealed class DriveInfo
    {
        public static DriveInfo[] GetDrives() { throw null; }
        public string Name { get { throw null; } }
        public long AvailableFreeSpace { get { throw null; } }
    }


    public static class Directory
    {
        public static bool Exists(string path) { throw null; }
        public static DirectoryInfo CreateDirectory(string path) { throw null; }
        public static string[] GetFiles(string path) { throw null; }
    }

    public static class Path
    {
        public static readonly char DirectorySeparatorChar;
        public static string Combine(string a, string b) { throw null; }
        public static string GetDirectoryName(string path) { throw null; }
        public static string GetFileName(string path) { throw null; }
        public static string GetFullPath(string path) { throw null; }
    }
}

namespace System.IO.MemoryMappedFiles
{
    public enum MemoryMappedFileAccess { ReadWrite = 0 }

    public class MemoryMappedFile : IDisposable
    {
        public static MemoryMappedFile CreateFromFile(FileStream fileStream, string mapName, long capacity,
            MemoryMappedFileAccess access, HandleInheritability inheritability, bool leaveOpen) { throw null; }
        public MemoryMappedViewAccessor CreateViewAccessor(long offset, long size, MemoryMappedFileAccess access) { throw null; }
        public void Dispose() { }
    }

    public sealed class MemoryMappedViewAccessor
    {
        public long PointerOffset { get { throw null; } }
        public Microsoft.Win32.SafeHandles.SafeMemoryMappedViewHandle SafeMemoryMappedViewHandle { get { throw null; } }
    }
}

namespace System.Reflection
{
    public sealed class DefaultMemberAttribute : Attribute
    {
        public DefaultMemberAttribute(string name) { }
    }

    public sealed class AssemblyVersionAttribute : Attribute { public AssemblyVersionAttribute(string s) { } }
    public sealed class AssemblyFileVersionAttribute : Attribute { public AssemblyFileVersionAttribute(string s) { } }
    public sealed class AssemblyInformationalVersionAttribute : Attribute { public AssemblyInformationalVersionAttribute(string s) { } }
    public sealed class AssemblyTitleAttribute : Attribute { public AssemblyTitleAttribute(string s) { } }
    public sealed class AssemblyDescriptionAttribute : Attribute { public AssemblyDescriptionAttribute(string s) { } }
    public sealed class AssemblyProductAttribute : Attribute { public AssemblyProductAttribute(string s) { } }

    [AttributeUsage(AttributeTargets.All, AllowMultiple = true)]
    public sealed class AssemblyMetadataAttribute : Attribute { public AssemblyMetadataAttribute(string key, string value) { } }

    public class ManifestResourceInfo { }

    public abstract class PropertyInfo
    {
        public virtual object GetValue(object o, object[] index) { throw null; }
    }

    public abstract class Module
    {
        public virtual Guid ModuleVersionId { get { throw null; } }
    }

    public abstract class Assembly
    {
        public virtual string FullName { get { throw null; } }
        public virtual bool IsDynamic { get { throw null; } }
        public virtual Module ManifestModule { get { throw null; } }
        public virtual ManifestResourceInfo GetManifestResourceInfo(string name) { throw null; }
        public virtual IO.Stream GetManifestResourceStream(string name) { throw null; }
    }
}

namespace System.Runtime.CompilerServices
{
    public sealed class IndexerNameAttribute : Attribute { public IndexerNameAttribute(string name) { } }
    public sealed class CompilerGeneratedAttribute : Attribute { }
    public static class IsVolatile { }

    public sealed class CompilationRelaxationsAttribute : Attribute
    {
        public CompilationRelaxationsAttribute(int relaxations) { }
    }

    public sealed class RuntimeCompatibilityAttribute : Attribute
    {
        public bool WrapNonExceptionThrows { get; set; }
    }

    public enum MethodImplOptions { NoInlining = 8, AggressiveInlining = 256 }

    public sealed class MethodImplAttribute : Attribute
    {
        public MethodImplAttribute(MethodImplOptions options) { }
    }

    public static class RuntimeHelpers
    {
        public static void EnsureSufficientExecutionStack() { }
    }
}

namespace System.Runtime.InteropServices
{
    public sealed class DllImportAttribute : Attribute
    {
        public DllImportAttribute(string library) { }
        public string EntryPoint;
    }

    public abstract class SafeHandle
    {
        public IntPtr DangerousGetHandle() { throw null; }
    }

    public abstract class SafeBuffer : SafeHandle
    {
        public unsafe void AcquirePointer(ref byte* pointer) { }
    }
}

namespace Microsoft.Win32.SafeHandles
{
    public sealed class SafeMemoryMappedViewHandle : System.Runtime.InteropServices.SafeBuffer { }
}

namespace System.Runtime.Versioning
{
    public sealed class TargetFrameworkAttribute : Attribute
    {
        public TargetFrameworkAttribute(string name) { }
        public string FrameworkDisplayName { get; set; }
    }
}

namespace System.Security
{
    public sealed class UnverifiableCodeAttribute : Attribute { }
}

namespace System.Text
{
    public abstract class Encoding
    {
        public static Encoding UTF8 { get { throw null; } }
        public virtual byte[] GetBytes(string s) { throw null; }
    }
}

namespace System.Threading
{
    public delegate void ThreadStart();

    public class ThreadInterruptedException : SystemException { }

    public abstract class WaitHandle
    {
        public virtual bool WaitOne() { throw null; }
    }

    public class EventWaitHandle : WaitHandle
    {
        public bool Set() { throw null; }
    }

    public sealed class AutoResetEvent : EventWaitHandle
    {
        public AutoResetEvent(bool initialState) { }
    }

    public sealed class Thread
    {
        public Thread(ThreadStart start) { }
        public static Thread CurrentThread { get { throw null; } }
        public bool IsAlive { get { throw null; } }
        public bool IsBackground { get { throw null; } set { } }
        public bool IsThreadPoolThread { get { throw null; } }
        public int ManagedThreadId { get { throw null; } }
        public string Name { get { throw null; } set { } }
        public void Interrupt() { }
        public void Start() { }
        public static void MemoryBarrier() { }
        public static void Sleep(int milliseconds) { }
        public static bool Yield() { throw null; }
    }

    public static class ThreadPool { }

    public static class Interlocked
    {
        public static int CompareExchange(ref int location, int value, int comparand) { throw null; }
        public static int Exchange(ref int location, int value) { throw null; }
        public static long Add(ref long location, long value) { throw null; }
        public static int Increment(ref int location) { throw null; }
        public static long Exchange(ref long location, long value) { throw null; }
        public static long Increment(ref long location) { throw null; }
    }

    public static class Volatile
    {
        public static int Read(ref int location) { throw null; }
        public static long Read(ref long location) { throw null; }
        public static void Write(ref int location, int value) { }
        public static void Write(ref long location, long value) { }
    }
}
