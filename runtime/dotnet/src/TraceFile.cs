using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.IO.MemoryMappedFiles;
using System.Threading;

namespace Weave.Runtime
{
    /// <summary>The file as a growing number of mapped chunks. Whoever lets it grow holds <see cref="Gate"/>.</summary>
    internal sealed unsafe class TraceFile
    {
        /// <summary>So much is reserved at once: it takes a fraction of a millisecond.</summary>
        internal const int Piece = 4 * Format.Chunk;

        private const long FirstMap = 1 << 20;
        private const long LastMap = 16 << 20;
        private const int Page = 4096;
        private const int Names = 10000;
        private const string Changed = "the file was moved or changed by somebody else";
        /// <summary>The byte that the writer of a trace has locked, beyond all of a file.</summary>
        internal const long WriterLock = 1L << 62;

        internal readonly Gate Gate = new Gate();
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
        private readonly DiskFile file;
        /// <summary>Null where the maps stay.</summary>
        private readonly Leaving leaving = Host.IsCollectible ? new Leaving() : null;
        /// <summary>The last map; it may reach further than what is reserved.</summary>
        private byte* map;
        private long mapStart;
        private long mapEnd;
        /// <summary>Of the next map.</summary>
        private long mapSize = FirstMap;
        /// <summary>What is reserved on the disk and mapped.</summary>
        private long size;
        /// <summary>Why the file grows no more although its limit is not reached, or null.</summary>
        internal volatile string Trouble;

        private TraceFile(string path, bool renamed, long limit, DiskFile file)
        {
            Path = path;
            IsRenamed = renamed;
            this.file = file;
            this.limit = limit;
        }

        /// <summary>Creates a file; if there is one of that name, one with a number behind its name.</summary>
        internal static TraceFile Create(string wanted, long limit)
        {
            string folder = System.IO.Path.GetDirectoryName(wanted);
            if (!string.IsNullOrEmpty(folder))
            {
                Private.Folder(folder);
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
                DiskFile file;
                try
                {
                    file = Private.File(path);
                }
                catch (IOException) when (File.Exists(path))
                {
                    continue; // somebody was faster
                }
                file.Lock(WriterLock);
                return new TraceFile(path, n > 1, limit, file);
            }
            throw new IOException("there are " + Names + " of that name");
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
            int length = SystemFile.Read(path, start);
            began = BitConverter.ToInt64(start, 16);
            return length == start.Length && BitConverter.ToInt64(start, 0) == Format.FileMagic;
        }

        /// <summary>Whether nobody writes a trace any more.</summary>
        private static bool IsFree(string path)
        {
            try
            {
                using (var other = new DiskFile(path, FileMode.Open, FileAccess.ReadWrite))
                {
                    return other.Lock(WriterLock);
                }
            }
            catch (Exception)
            {
                return false;
            }
        }

        /// <summary>Somebody has cut the file off, and pages of it are gone: what is written to its chunks is lost.</summary>
        internal bool IsCut
        {
            get
            {
                if (!MapGuard.IsCut)
                {
                    return false;
                }
                Trouble = Trouble ?? Changed;
                return true;
            }
        }

        /// <summary>Whether the file may still grow.</summary>
        internal bool MayGrow
        {
            get { return Trouble == null && limit - Volatile.Read(ref size) >= Format.Chunk; }
        }

        /// <summary>At most so many bytes of further chunks, all zero: how many chunks; none if there are none, now or for ever.</summary>
        internal int Grow(int most, out long* chunks)
        {
            chunks = null;
            if (!MayGrow)
            {
                return 0;
            }
            bool interrupted = false;
            try
            {
                while (true)
                {
                    try
                    {
                        return Reserve(most, out chunks);
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
        /// Maps, really writes zeros, and touches each page: a page that the disk has no room for would kill the process when
        /// it is touched, and the first touch takes time that the program's threads need not spend.
        /// </summary>
        private int Reserve(int most, out long* chunks)
        {
            if (file.Length < size || !File.Exists(Path))
            {
                throw new IOException(Changed);
            }
            long room = (Math.Min(limit, Posix.LongestFile()) - size) / Format.Chunk * Format.Chunk;
            if (room <= 0)
            {
                throw new IOException("file too large (ulimit -f)");
            }
            if (size == mapEnd)
            {
                Map(Math.Min(mapSize, room));
            }
            long want = Math.Min(Math.Min(most, room), mapEnd - size);
            long written = 0;
            try
            {
                for (; written < want; written += zeros.Length)
                {
                    file.Write(zeros, size + written);
                }
            }
            catch (Exception e)
            {
                CutTo(size + written);
                if (written == 0 || !(e is IOException))
                {
                    throw;
                }
                Trouble = Reason(e);
            }
            byte* start = map + (size - mapStart);
            for (long at = 0; at < written; at += Page)
            {
                Volatile.Write(ref *(long*)(start + at), 0);
            }
            chunks = (long*)start;
            Volatile.Write(ref size, size + written);
            return (int)(written / Format.Chunk);
        }

        /// <summary>Maps so many bytes behind those that are mapped. What lies there is not reserved yet, and nobody's.</summary>
        private void Map(long want)
        {
            using (MemoryMappedFile whole = file.Map(size + want))
            {
                MemoryMappedViewAccessor view = whole.CreateViewAccessor(size, want, MemoryMappedFileAccess.ReadWrite);
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
                map = start + view.PointerOffset;
            }
            MapGuard.Add(map, want);
            if (System.IO.Path.DirectorySeparatorChar == '/')
            {
                // Mono has closed a descriptor of its own, and with it the lock. On Windows the lock stays, and to take it again throws.
                file.Lock(WriterLock);
            }
            mapStart = size;
            mapEnd = size + want;
            mapSize = Math.Min(2 * mapSize, LastMap);
        }

        /// <summary>Is collected with the library, when the maps go.</summary>
        private sealed class Leaving
        {
            ~Leaving()
            {
                MapGuard.Clear();
            }
        }

        private void CutTo(long length)
        {
            try
            {
                file.SetLength(length);
                mapEnd = Math.Min(mapEnd, length);
            }
            catch (IOException)
            {
                // Windows leaves what is mapped as it is.
            }
        }
    }
}
