using System;
using System.IO;
using System.Text;

namespace Weave.Runtime
{
    /// <summary>
    /// The file with a request. Only who can read the trace knows its name and what is in it, and only the user who runs the
    /// program, and root, may have written it. Others may write to the folder: nothing is followed, and nothing is waited for.
    /// </summary>
    internal sealed class RequestFile
    {
        private const string Suffix = ".control";
        /// <summary>Bytes of the nonce; with the first half of it the file is named, and all of it stands in the file.</summary>
        private const int NonceBytes = 16;
        private const int Most = 60000;
        private const string HexDigits = "0123456789abcdef";

        internal readonly string Nonce;
        private readonly string trace;
        private readonly string path;
        /// <summary>Who runs the program: the owner of the trace. Where the system does not say it, the nonce alone decides.</summary>
        private FileStatus own;

        internal RequestFile(string trace, byte[] nonce)
        {
            this.trace = trace;
            var digits = new StringBuilder();
            for (int i = 0; i < 2 * NonceBytes; i++)
            {
                digits.Append(HexDigits.Substring(nonce[i / 2] >> 4 * (1 - i % 2) & 15, 1));
            }
            Nonce = digits.ToString();
            path = trace + "." + Nonce.Substring(0, NonceBytes) + Suffix;
        }

        /// <summary>Bytes that nobody can guess.</summary>
        internal static byte[] NewNonce()
        {
            return Guid.NewGuid().ToByteArray();
        }

        /// <summary>Remembers who runs the program.</summary>
        internal void Open()
        {
            own = Posix.Status(trace);
        }

        /// <summary>What lies there, if it is a request file of the owner's; else null.</summary>
        internal byte[] Read()
        {
            try
            {
                return own.IsKnown ? ReadOwned() : File.Exists(path) ? Whole(path, FileAccess.Read, own) : null;
            }
            catch (Exception) // it is gone
            {
                return null;
            }
        }

        private byte[] ReadOwned()
        {
            FileStatus before = Posix.Status(path);
            if (!IsAllowed(before))
            {
                return null;
            }
            // Opened for both, a pipe that has come meanwhile does not block.
            return Whole(path, before.Owner == own.Owner ? FileAccess.ReadWrite : FileAccess.Read, before);
        }

        private bool IsAllowed(FileStatus file)
        {
            return file.IsRegular && file.Length <= Most && (file.Owner == own.Owner || file.Owner == 0);
        }

        /// <summary>All of a file, if it is still the one that was looked at.</summary>
        private byte[] Whole(string path, FileAccess access, FileStatus before)
        {
            var room = new byte[Most + 1];
            int length;
            using (var file = new DiskFile(path, FileMode.Open, access))
            {
                if (own.IsKnown)
                {
                    FileStatus opened = Posix.Status(file.Handle);
                    if (!IsAllowed(opened) || opened.Inode != before.Inode)
                    {
                        return null;
                    }
                }
                length = file.Read(room);
            }
            if (length == 0 || length > Most)
            {
                return null;
            }
            var bytes = new byte[length];
            Array.Copy(room, bytes, length);
            return bytes;
        }

        internal void Delete()
        {
            File.Delete(path);
        }
    }
}
