// What the hook library uses of .NET Standard 2.0 and of .NET 8, as signatures alone: its reference assemblies, so that it
// is compiled against nothing else. Bodies never run. For .NET 8 each file of this folder is the assembly of its name; for
// .NET Standard they are one, netstandard.

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
        public static bool IsLetterOrDigit(char c) { throw null; }
        public static char ToLowerInvariant(char c) { throw null; }
        public override string ToString() { throw null; }
    }

    public struct Int32
    {
        public const int MaxValue = 0x7FFFFFFF;
        public override string ToString() { throw null; }
        public string ToString(IFormatProvider provider) { throw null; }
        public string ToString(string format, IFormatProvider provider) { throw null; }
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
        public static explicit operator IntPtr(int value) { throw null; }
        public static explicit operator long(IntPtr value) { throw null; }
        public static unsafe explicit operator void*(IntPtr value) { throw null; }
    }

#if NET8_0_OR_GREATER
    public static class AppContext
    {
        public static void SetSwitch(string name, bool enabled) { }
    }

    public static class OperatingSystem
    {
        public static bool IsLinux() { throw null; }
        public static bool IsWindows() { throw null; }
    }
#endif

#if NET8_0_OR_GREATER
    public readonly ref struct Span<T>
    {
        public Span(T[] array, int start, int length) { throw null; }
        public unsafe Span(void* pointer, int length) { throw null; }
        public ref T this[int index] { get { throw null; } }
        public static implicit operator ReadOnlySpan<T>(Span<T> span) { throw null; }
    }

    public readonly ref struct ReadOnlySpan<T>
    {
        public ReadOnlySpan(T[] array) { throw null; }
        public unsafe ReadOnlySpan(void* pointer, int length) { throw null; }
        public override string ToString() { throw null; }
        public T[] ToArray() { throw null; }
    }
#endif

    public struct TimeSpan
    {
        public long Ticks { get { throw null; } }
    }

    public struct Guid
    {
        public static Guid NewGuid() { throw null; }
        public byte[] ToByteArray() { throw null; }
        public override string ToString() { throw null; }
    }

    public struct DateTime
    {
        public DateTime(int year, int month, int day) { throw null; }
        public static DateTime UtcNow { get { throw null; } }
        public long Ticks { get { throw null; } }
        public int Year { get { throw null; } }
        public int Month { get { throw null; } }
        public int Day { get { throw null; } }
        public int Hour { get { throw null; } }
        public int Minute { get { throw null; } }
        public int Second { get { throw null; } }
    }

    public sealed class String
    {
        public String(char[] value) { }
        public String(char[] value, int start, int length) { }
        public static int CompareOrdinal(string a, int at, string b, int atB, int length) { throw null; }
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
        public int LastIndexOf(char value) { throw null; }
        public int IndexOf(string value, StringComparison comparison) { throw null; }
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
        public static void Sort<T>(T[] array) { throw null; }
        public int Rank { get { throw null; } }
        public int GetLowerBound(int dimension) { throw null; }
        public object GetValue(int index) { throw null; }
    }

    public abstract class Delegate
    {
        public static Delegate CreateDelegate(Type type, Type target, string method, bool ignoreCase, bool throwOnBindFailure) { throw null; }
    }

    public abstract class MulticastDelegate : Delegate { }
    public delegate void Action<in T>(T obj);
    public delegate void Action<in T1, in T2>(T1 one, T2 other);
    public delegate TResult Func<out TResult>();
    public delegate TResult Func<in T, out TResult>(T arg);

    public abstract class Type
    {
        public static Type GetType(string name, bool throwOnError) { throw null; }
        public static Type GetTypeFromHandle(RuntimeTypeHandle handle) { throw null; }
        public Reflection.PropertyInfo GetProperty(string name) { throw null; }
        public virtual Reflection.Assembly Assembly { get { throw null; } }
    }

    public struct RuntimeTypeHandle { }
    public interface IDisposable { void Dispose(); }
    public interface IFormatProvider { }
    public interface IFormattable { string ToString(string format, IFormatProvider provider); }
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
        public Exception(string message) { }
        public virtual string Message { get { throw null; } }
    }

    public class SystemException : Exception { }
    public class MemberAccessException : SystemException { }
    public class MissingMemberException : MemberAccessException { }

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

    public class Uri
    {
        private Uri() { }
        public string OriginalString { get { throw null; } }
    }

    public sealed class Version
    {
        public int Major { get { throw null; } }
    }

    public static class Environment
    {
        public static string CommandLine { get { throw null; } }
#if NET8_0_OR_GREATER
        public static int ProcessId { get { throw null; } }
#endif
        public static int SystemPageSize { get { throw null; } }
        public static Version Version { get { throw null; } }
        public static long WorkingSet { get { throw null; } }
        public static string MachineName { get { throw null; } }
        public static string NewLine { get { throw null; } }
        public static string GetEnvironmentVariable(string name) { throw null; }
    }

    public static class GC
    {
        public static int CollectionCount(int generation) { throw null; }
        public static long GetTotalMemory(bool forceFullCollection) { throw null; }
#if NET8_0_OR_GREATER
        public static long GetTotalAllocatedBytes(bool precise = false) { throw null; }
        public static TimeSpan GetTotalPauseDuration() { throw null; }
#endif
    }

    public static class BitConverter
    {
        public static readonly bool IsLittleEndian;
        public static long ToInt64(byte[] bytes, int start) { throw null; }
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
    public interface ICollection { int Count { get; } }
    public interface IDictionary { object this[object key] { get; set; } }
}

namespace System.Collections.Generic
{
    public interface IEnumerator<out T> : IDisposable, IEnumerator
    {
        new T Current { get; }
    }

    public interface IReadOnlyCollection<out T> : IEnumerable<T>
    {
        int Count { get; }
    }

    public interface IEnumerable<out T> : IEnumerable
    {
        new IEnumerator<T> GetEnumerator();
    }

    public struct KeyValuePair<TKey, TValue>
    {
        public KeyValuePair(TKey key, TValue value) { throw null; }
        public TKey Key { get { throw null; } }
        public TValue Value { get { throw null; } }
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

#if NET8_0_OR_GREATER
    public enum FileOptions { None = 0 }
    public enum UnixFileMode { UserExecute = 0x40, UserWrite = 0x80, UserRead = 0x100 }
#endif

    public enum FileMode { CreateNew = 1, Open = 3, OpenOrCreate = 4 }
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
#if NET8_0_OR_GREATER
        public FileStream(Microsoft.Win32.SafeHandles.SafeFileHandle handle, FileAccess access, int bufferSize) { }
#endif
        public virtual Microsoft.Win32.SafeHandles.SafeFileHandle SafeFileHandle { get { throw null; } }
        public override long Length { get { throw null; } }
        public override int Read(byte[] buffer, int offset, int count) { throw null; }
        public override void Write(byte[] buffer, int offset, int count) { }
        public override void Flush() { }
        public override long Seek(long offset, SeekOrigin origin) { throw null; }
        public override void SetLength(long value) { }
        public virtual void Lock(long position, long length) { }
    }

#if NET8_0_OR_GREATER
    public static class RandomAccess
    {
        public static long GetLength(Microsoft.Win32.SafeHandles.SafeFileHandle handle) { throw null; }
        public static int Read(Microsoft.Win32.SafeHandles.SafeFileHandle handle, Span<byte> buffer, long fileOffset) { throw null; }
        public static void SetLength(Microsoft.Win32.SafeHandles.SafeFileHandle handle, long length) { }
        public static void Write(Microsoft.Win32.SafeHandles.SafeFileHandle handle, ReadOnlySpan<byte> buffer, long fileOffset) { }
    }

    public class UnmanagedMemoryStream : Stream
    {
        public virtual Microsoft.Win32.SafeHandles.SafeFileHandle SafeFileHandle { get { throw null; } }
        public override long Length { get { throw null; } }
        public override int Read(byte[] buffer, int offset, int count) { throw null; }
        public override void Write(byte[] buffer, int offset, int count) { }
        public override void Flush() { }
        public override long Seek(long offset, SeekOrigin origin) { throw null; }
        public override void SetLength(long value) { }
        public unsafe byte* PositionPointer { get { throw null; } }
    }
#endif

    public abstract class TextWriter
    {
        public virtual void WriteLine(string value) { }
    }

    public static partial class File
    {
        public static bool Exists(string path) { throw null; }
        public static void Delete(string path) { }
#if NET8_0_OR_GREATER
        public static Microsoft.Win32.SafeHandles.SafeFileHandle OpenHandle(string path, FileMode mode = FileMode.Open,
            FileAccess access = FileAccess.Read, FileShare share = FileShare.Read, FileOptions options = FileOptions.None,
            long preallocationSize = 0) { throw null; }
        public static void SetUnixFileMode(string path, UnixFileMode mode) { }
#endif
    }

    public sealed class DirectoryInfo { }

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
        public static string GetPathRoot(string path) { throw null; }
    }
}

#if NET8_0_OR_GREATER
namespace System.IO
{
    public enum FileAttributes { }

    public class EnumerationOptions
    {
        public FileAttributes AttributesToSkip { get; set; }
    }
}

namespace System.IO.Enumeration
{
    public ref struct FileSystemEntry
    {
        public ReadOnlySpan<char> FileName { get { throw null; } }
        public bool IsDirectory { get { throw null; } }
    }

    public abstract class FileSystemEnumerator<TResult> : IDisposable
    {
        public FileSystemEnumerator(string directory, EnumerationOptions options = null) { }
        public TResult Current { get { throw null; } }
        public bool MoveNext() { throw null; }
        protected virtual bool ShouldIncludeEntry(ref FileSystemEntry entry) { throw null; }
        protected abstract TResult TransformEntry(ref FileSystemEntry entry);
        public void Dispose() { }
    }
}
#endif

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
        public static Assembly GetEntryAssembly() { throw null; }
        public virtual string FullName { get { throw null; } }
        public virtual bool IsDynamic { get { throw null; } }
#if NET8_0_OR_GREATER
        public virtual bool IsCollectible { get { throw null; } }
#endif
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

    public sealed class ConditionalWeakTable<TKey, TValue> where TKey : class where TValue : class
    {
        public delegate TValue CreateValueCallback(TKey key);
        public ConditionalWeakTable() { }
        public bool TryGetValue(TKey key, out TValue value) { throw null; }
        public TValue GetValue(TKey key, CreateValueCallback createValueCallback) { throw null; }
    }

    public static class RuntimeHelpers
    {
        public static int GetHashCode(object o) { throw null; }
#if NET8_0_OR_GREATER
        public static bool TryEnsureSufficientExecutionStack() { throw null; }
#else
        public static void EnsureSufficientExecutionStack() { }
#endif
    }

#if NET8_0_OR_GREATER
    public static class RuntimeFeature
    {
        public static bool IsDynamicCodeSupported { get { throw null; } }
    }

    public enum UnsafeAccessorKind { StaticMethod = 2 }

    public sealed class UnsafeAccessorAttribute : Attribute
    {
        public UnsafeAccessorAttribute(UnsafeAccessorKind kind) { }
        public string Name { get; set; }
    }
#endif
}

namespace System.Runtime.InteropServices
{
    public struct GCHandle
    {
        public static GCHandle Alloc(object value, GCHandleType type) { throw null; }
        public IntPtr AddrOfPinnedObject() { throw null; }
    }

    public enum GCHandleType { Pinned = 3 }

    public sealed class DllImportAttribute : Attribute
    {
        public DllImportAttribute(string library) { }
        public string EntryPoint;
    }

    public abstract class SafeHandle : IDisposable
    {
        public void Dispose() { }
        public IntPtr DangerousGetHandle() { throw null; }
    }

    public abstract class SafeBuffer : SafeHandle
    {
        public unsafe void AcquirePointer(ref byte* pointer) { }
    }
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
    public sealed class StringBuilder
    {
        public StringBuilder() { }
        public int Length { get { throw null; } }
        public StringBuilder Append(string text) { throw null; }
        public StringBuilder Append(string text, int index, int count) { throw null; }
        public string ToString(int index, int length) { throw null; }
    }

    public abstract class Encoding
    {
        public static Encoding UTF8 { get { throw null; } }
        public virtual byte[] GetBytes(string s) { throw null; }
        public virtual string GetString(byte[] bytes, int index, int count) { throw null; }
    }
}

namespace System.Threading
{
    public readonly struct CancellationToken
    {
        public static CancellationToken None { get { throw null; } }
    }

    public abstract class WaitHandle
    {
        public virtual bool WaitOne() { throw null; }
        public virtual bool WaitOne(int milliseconds) { throw null; }
    }
}

namespace System.Threading.Tasks
{
    public enum TaskStatus { RanToCompletion = 5 }
    public enum TaskContinuationOptions { ExecuteSynchronously = 0x80000 }

    public abstract class TaskScheduler
    {
        internal TaskScheduler() { }
        public static TaskScheduler Default { get { throw null; } }
    }

    public class Task
    {
        internal Task() { }
        public TaskStatus Status { get { throw null; } }
        public bool IsCompleted { get { throw null; } }
        public bool IsCanceled { get { throw null; } }
        public Task ContinueWith(Action<Task> action, CancellationToken token, TaskContinuationOptions options, TaskScheduler scheduler) { throw null; }
    }

    public class Task<TResult> : Task
    {
        internal Task() { }
        public TResult Result { get { throw null; } }
    }

    public class TaskCanceledException : Exception { public TaskCanceledException() { } }
}

namespace Microsoft.Win32.SafeHandles
{
    public sealed class SafeFileHandle : System.Runtime.InteropServices.SafeHandle { }
}
