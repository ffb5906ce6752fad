using System;
using System.IO;
using System.IO.MemoryMappedFiles;
using Microsoft.Win32.SafeHandles;

namespace Weave.Runtime
{
    /// <summary>
    /// An open file, without a stream: in a native program a stream is 30 KB, and a call of <c>Stream.Read</c> keeps that of
    /// every stream, with all that reads the console's keys.
    /// </summary>
    internal sealed class DiskFile : IDisposable
    {
        private readonly SafeFileHandle handle;
        /// <summary>For its lock, where the library has no other. It closes the handle when it goes.</summary>
        private FileStream stream;

        internal DiskFile(string path, FileMode mode, FileAccess access)
        {
            handle = File.OpenHandle(path, mode, access, FileShare.ReadWrite | FileShare.Delete);
        }

        internal IntPtr Handle
        {
            get { return handle.DangerousGetHandle(); }
        }

        internal long Length
        {
            get { return RandomAccess.GetLength(handle); }
        }

        internal void SetLength(long length)
        {
            RandomAccess.SetLength(handle, length);
        }

        internal void Write(byte[] bytes, long at)
        {
            RandomAccess.Write(handle, new ReadOnlySpan<byte>(bytes), at);
        }

        /// <summary>The start of the file, as much as there is room for: how many bytes.</summary>
        internal int Read(byte[] bytes)
        {
            int at = 0;
            for (int n; at < bytes.Length && (n = RandomAccess.Read(handle, new Span<byte>(bytes, at, bytes.Length - at), at)) > 0;)
            {
                at += n;
            }
            return at;
        }

        /// <summary>The whole file, which becomes that long, as memory.</summary>
        internal MemoryMappedFile Map(long length)
        {
            return MemoryMappedFile.CreateFromFile(handle, null, length, MemoryMappedFileAccess.ReadWrite, HandleInheritability.None, true);
        }

        /// <summary>Whether the lock of a byte is this file's now; false as well where there are no locks.</summary>
        internal bool Lock(long at)
        {
            try
            {
                if (OperatingSystem.IsLinux())
                {
                    return Posix.Lock(handle.DangerousGetHandle(), at);
                }
                stream = stream ?? new FileStream(handle, FileAccess.ReadWrite, 1);
                stream.Lock(at, 1);
                return true;
            }
            catch (Exception)
            {
                return false;
            }
        }

        public void Dispose()
        {
            handle.Dispose();
        }
    }
}
