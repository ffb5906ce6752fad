using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.IO.MemoryMappedFiles;
using System.Threading;

namespace Weave.Runtime
{
    /// <summary>The file as a growing number of mapped chunks. Not for several threads at once.</summary>
    internal sealed unsafe class TraceFile
    {
        private const long FirstStep = 1 << 20;
        private const long LastStep = 16 << 20;
        private const int Names = 10000;

        internal readonly string Path;
        private readonly long limit;
        private readonly byte[] zeros = new byte[Format.Chunk];
        /// <summary>Keeps the maps: their pointers are in use to the end of the process.</summary>
        private readonly List<MemoryMappedViewAccessor> views = new List<MemoryMappedViewAccessor>();
        private long size;
        private long step = FirstStep;
        /// <summary>Why the file grows no more although its limit is not reached, or null.</summary>
        internal string Trouble;

        private TraceFile(string path, long limit)
        {
            Path = path;
            this.limit = limit;
        }

        /// <summary>Creates a file; if there is one of that name, one with a number behind its name.</summary>
        internal static TraceFile Create(string wanted, long limit)
        {
            if (limit < 2 * Format.Chunk)
            {
                throw new IOException("the limit is below " + 2 * Format.Chunk + " bytes");
            }
            string folder = System.IO.Path.GetDirectoryName(wanted);
            if (!string.IsNullOrEmpty(folder))
            {
                Directory.CreateDirectory(folder);
            }
            string start = wanted.EndsWith(".wtrace", StringComparison.Ordinal)
                ? wanted.Substring(0, wanted.Length - ".wtrace".Length) : wanted;
            for (int n = 1; n < Names; n++)
            {
                string path = n == 1
                    ? wanted
                    : start + "-" + n.ToString(CultureInfo.InvariantCulture) + wanted.Substring(start.Length);
                if (File.Exists(path) || Directory.Exists(path))
                {
                    continue;
                }
                try
                {
                    new FileStream(path, FileMode.CreateNew, FileAccess.Write, FileShare.ReadWrite | FileShare.Delete, 1).Dispose();
                }
                catch (IOException) when (File.Exists(path))
                {
                    continue; // somebody was faster
                }
                return new TraceFile(path, limit);
            }
            throw new IOException("there are " + Names + " of that name");
        }

        /// <summary>More chunks, all zero: how many; none if there are none to be had, now and for ever.</summary>
        internal int Grow(out long* chunks)
        {
            chunks = null;
            long room = (limit - size) / Format.Chunk * Format.Chunk;
            long want = Math.Min(step, room);
            if (want <= 0 || Trouble != null)
            {
                return 0;
            }
            step = Math.Min(2 * step, LastStep);
            bool interrupted = false;
            try
            {
                while (true)
                {
                    try
                    {
                        return Reserve(want, out chunks);
                    }
                    catch (ThreadInterruptedException)
                    {
                        interrupted = true;
                    }
                }
            }
            catch (Exception e)
            {
                Trouble = Reason(e);
                return 0;
            }
            finally
            {
                if (interrupted)
                {
                    Thread.CurrentThread.Interrupt();
                }
            }
        }

        /// <summary>What an exception says, on one line.</summary>
        internal static string Reason(Exception e)
        {
            return string.IsNullOrEmpty(e.Message) ? e.GetType().ToString() : e.Message.Replace('\r', ' ').Replace('\n', ' ');
        }

        /// <summary>
        /// Really writes the zeros before mapping them: a page that the disk has no room for would kill the process when
        /// it is touched.
        /// </summary>
        private int Reserve(long want, out long* chunks)
        {
            using (var file = new FileStream(Path, FileMode.Open, FileAccess.ReadWrite, FileShare.ReadWrite | FileShare.Delete, 1))
            {
                if (file.Length != size)
                {
                    throw new IOException("the file was moved or changed by somebody else");
                }
                file.Seek(size, SeekOrigin.Begin);
                long written = 0;
                try
                {
                    for (; written < want; written += zeros.Length)
                    {
                        file.Write(zeros, 0, zeros.Length);
                        file.Flush();
                    }
                }
                catch (Exception e)
                {
                    bool some = written > 0 && e is IOException;
                    file.SetLength(some ? size + written : size);
                    if (!some)
                    {
                        throw;
                    }
                    Trouble = Reason(e);
                }
                using (MemoryMappedFile map = MemoryMappedFile.CreateFromFile(file, null, size + written,
                    MemoryMappedFileAccess.ReadWrite, HandleInheritability.None, true))
                {
                    MemoryMappedViewAccessor view = map.CreateViewAccessor(size, written, MemoryMappedFileAccess.ReadWrite);
                    views.Add(view);
                    byte* start = null;
                    view.SafeMemoryMappedViewHandle.AcquirePointer(ref start);
                    chunks = (long*)(start + view.PointerOffset);
                }
                size += written;
                return (int)(written / Format.Chunk);
            }
        }
    }
}
