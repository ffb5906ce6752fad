using System;
using System.IO;
using System.IO.MemoryMappedFiles;

namespace Weave.Runtime
{
    /// <summary>An open file, by .NET Standard 2.0's streams.</summary>
    internal sealed class DiskFile : IDisposable
    {
        private readonly FileStream stream;

        internal DiskFile(string path, FileMode mode, FileAccess access)
        {
            stream = new FileStream(path, mode, access, FileShare.ReadWrite | FileShare.Delete, 1);
        }

        internal IntPtr Handle
        {
            get { return stream.SafeFileHandle.DangerousGetHandle(); }
        }

        internal long Length
        {
            get { return stream.Length; }
        }

        internal void SetLength(long length)
        {
            stream.SetLength(length);
        }

        internal void Write(byte[] bytes, long at)
        {
            stream.Seek(at, SeekOrigin.Begin);
            stream.Write(bytes, 0, bytes.Length);
            stream.Flush();
        }

        /// <summary>The start of the file, as much as there is room for: how many bytes. To be called once.</summary>
        internal int Read(byte[] bytes)
        {
            int at = 0;
            for (int n; at < bytes.Length && (n = stream.Read(bytes, at, bytes.Length - at)) > 0;)
            {
                at += n;
            }
            return at;
        }

        /// <summary>The whole file, which becomes that long, as memory.</summary>
        internal MemoryMappedFile Map(long length)
        {
            stream.SetLength(length); // Mono does not do it
            return MemoryMappedFile.CreateFromFile(stream, null, length, MemoryMappedFileAccess.ReadWrite, HandleInheritability.None, true);
        }

        /// <summary>Whether the lock of a byte is this file's now; false as well where there are no locks.</summary>
        internal bool Lock(long at)
        {
            try
            {
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
            stream.Dispose();
        }
    }
}
