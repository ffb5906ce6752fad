using System;
using System.IO;
using System.Runtime.InteropServices;
using System.Text;

namespace Weave.Runtime
{
    /// <summary>
    /// Makes files and folders that only their owner may read: command lines and messages of exceptions are in a trace. They have their mode
    /// from the start, since another user could open them before it is changed.
    /// </summary>
    internal static unsafe class Private
    {
        // Flags of Linux on x86-64 and ARM64.
        private const int ReadAndWrite = 0x2;
        private const int Create = 0x40;
        private const int Exclusive = 0x80;
        private const int CloseOnExec = 0x80000;

        [DllImport("libc", EntryPoint = "mkdir")]
        private static extern int MakeFolder(byte* path, int mode);

        /// <summary>It takes its last argument as one of any number of arguments, which is the same on these machines.</summary>
        [DllImport("libc", EntryPoint = "open")]
        private static extern int Open(byte* path, int how, int mode);

        [DllImport("libc", EntryPoint = "close")]
        private static extern int Close(int file);

        /// <summary>Makes a folder and those above it that are missing.</summary>
        internal static void Folder(string folder)
        {
            if (string.IsNullOrEmpty(folder) || Directory.Exists(folder))
            {
                return;
            }
            Folder(Path.GetDirectoryName(folder));
            if (Path.DirectorySeparatorChar == '/')
            {
                fixed (byte* path = Encoding.UTF8.GetBytes(folder + "\0"))
                {
                    MakeFolder(path, Posix.OwnersFolder);
                }
            }
            Directory.CreateDirectory(folder); // it says why it cannot be
        }

        /// <summary>Makes a file where there is none, and opens it.</summary>
        internal static DiskFile File(string path)
        {
            FileStatus made;
            if (Posix.LinuxMachine() == Posix.Machine.Other || !Make(path, out made))
            {
                var other = new DiskFile(path, FileMode.CreateNew, FileAccess.ReadWrite); // or it says why it cannot be
                Posix.SetMode(path, Posix.OwnersFile);
                return other;
            }
            var file = new DiskFile(path, FileMode.Open, FileAccess.ReadWrite);
            if (made.IsKnown && Posix.Status(file.Handle).Inode != made.Inode)
            {
                file.Dispose();
                throw new IOException("somebody else has changed it");
            }
            return file;
        }

        private static bool Make(string path, out FileStatus status)
        {
            fixed (byte* bytes = Encoding.UTF8.GetBytes(path + "\0"))
            {
                int file = Open(bytes, ReadAndWrite | Create | Exclusive | CloseOnExec, Posix.OwnersFile);
                status = file < 0 ? new FileStatus() : Posix.Status((IntPtr)file);
                if (file >= 0)
                {
                    Close(file);
                }
                return file >= 0;
            }
        }
    }
}
