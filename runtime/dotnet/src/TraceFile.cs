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
        /// <summary>The byte that the writer of a trace has locked, beyond all of a file.</summary>
        internal const long WriterLock = 1L << 62;

        internal readonly string Path;
        /// <summary>The name was taken, so that the file has another.</summary>
        internal readonly bool IsRenamed;
        private readonly long limit;
        private readonly byte[] zeros = new byte[Format.Chunk];
        /// <summary>Keeps the maps: their pointers are in use to the end of the process.</summary>
        private readonly List<MemoryMappedViewAccessor> views = new List<MemoryMappedViewAccessor>();
        /// <summary>
        /// Open to the end of the process: its lock tells others that this process writes the trace, and where locks are
        /// the process's own, closing any other stream of the file would end it.
        /// </summary>
        private readonly FileStream file;
        private long size;
        private long step = FirstStep;
        /// <summary>Why the file grows no more although its limit is not reached, or null.</summary>
        internal string Trouble;

        private TraceFile(string path, bool renamed, long limit, FileStream file)
        {
            Path = path;
            IsRenamed = renamed;
            this.file = file;
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
                MakeFolder(folder);
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
                FileStream file;
                try
                {
                    file = new FileStream(path, FileMode.CreateNew, FileAccess.ReadWrite, FileShare.ReadWrite | FileShare.Delete, 1);
                }
                catch (IOException) when (File.Exists(path))
                {
                    continue; // somebody was faster
                }
                // Command lines and messages are in it.
                Posix.SetMode(path, Posix.OwnersFile);
                Lock(file);
                return new TraceFile(path, n > 1, limit, file);
            }
            throw new IOException("there are " + Names + " of that name");
        }

        /// <summary>Makes a folder and those above it, for their owner alone.</summary>
        private static void MakeFolder(string folder)
        {
            if (string.IsNullOrEmpty(folder) || Directory.Exists(folder))
            {
                return;
            }
            MakeFolder(System.IO.Path.GetDirectoryName(folder));
            Directory.CreateDirectory(folder);
            Posix.SetMode(folder, Posix.OwnersFolder);
        }

        /// <summary>
        /// Deletes the oldest traces that the pattern made in this folder, until so many are left with this one. Those
        /// stay whose process has their lock. Returns what went wrong, or null.
        /// </summary>
        internal string Keep(string pattern, long keep)
        {
            try
            {
                string own = System.IO.Path.GetFileName(Path);
                string mine = AppDomain.CurrentDomain.GetData(Files) as string ?? "";
                AppDomain.CurrentDomain.SetData(Files, mine + "\n" + Path + "\n");
                var names = new List<string>();
                var times = new List<long>();
                string folder = System.IO.Path.GetDirectoryName(Path);
                List<string> files = Host.Files(folder);
                for (int i = 0; i < files.Count; i++)
                {
                    string name = files[i];
                    string path = System.IO.Path.Combine(folder, name);
                    // To open and close a file of this process, another copy of the library's, would free its lock.
                    long time;
                    if (name == own || !Settings.Fits(pattern, name) || mine.Contains("\n" + path + "\n") || !IsTrace(path, out time))
                    {
                        continue;
                    }
                    int at = names.Count;
                    while (at > 0 && times[at - 1] > time)
                    {
                        at--;
                    }
                    names.Insert(at, path);
                    times.Insert(at, time);
                }
                long over = names.Count + 1 - keep;
                for (int i = 0; i < names.Count && over > 0; i++)
                {
                    if (IsFree(names[i]))
                    {
                        File.Delete(names[i]);
                        over--;
                    }
                }
                return null;
            }
            catch (Exception e)
            {
                return "old traces stay: " + Reason(e);
            }
        }

        /// <summary>Of the application domain: the traces of all copies of the library, each in a line.</summary>
        private const string Files = "Weave.Runtime.Files";

        /// <summary>Whether a file is a trace, and when that began. The file's own time weighs 350 KB in a native program.</summary>
        private static bool IsTrace(string path, out long began)
        {
            var start = new byte[24];
            int length = Host.Read(path, start);
            began = BitConverter.ToInt64(start, 16);
            return length == start.Length && BitConverter.ToInt64(start, 0) == Format.FileMagic;
        }

        /// <summary>Whether nobody writes a trace any more.</summary>
        private static bool IsFree(string path)
        {
            try
            {
                using (var other = new FileStream(path, FileMode.Open, FileAccess.ReadWrite, FileShare.ReadWrite | FileShare.Delete, 1))
                {
                    return Lock(other);
                }
            }
            catch (Exception)
            {
                return false;
            }
        }

        /// <summary>Whether the writer's lock is this stream's now; false as well where there are no locks.</summary>
        private static bool Lock(FileStream file)
        {
            try
            {
                file.Lock(WriterLock, 1);
                return true;
            }
            catch (Exception)
            {
                return false;
            }
        }

        /// <summary>Whether <see cref="Grow"/> would try anything.</summary>
        internal bool MayGrow
        {
            get { return Trouble == null && limit - size >= Format.Chunk; }
        }

        /// <summary>More chunks, all zero: how many; none if there are none to be had, now and for ever.</summary>
        internal int Grow(out long* chunks)
        {
            chunks = null;
            long room = (limit - size) / Format.Chunk * Format.Chunk;
            long want = Math.Min(step, room);
            if (!MayGrow)
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
            {
                if (file.Length != size || !File.Exists(Path))
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
                    if (Host.IsCollectible)
                    {
                        // The map goes when the library does, and its views with it.
                        start = (byte*)view.SafeMemoryMappedViewHandle.DangerousGetHandle();
                    }
                    else
                    {
                        view.SafeMemoryMappedViewHandle.AcquirePointer(ref start);
                    }
                    chunks = (long*)(start + view.PointerOffset);
                }
                // Mono has closed a descriptor of its own, and with it the lock.
                Lock(file);
                size += written;
                return (int)(written / Format.Chunk);
            }
        }
    }
}
