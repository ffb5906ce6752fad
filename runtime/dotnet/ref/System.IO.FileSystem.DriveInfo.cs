namespace System.IO
{
    public sealed class DriveInfo
    {
        public DriveInfo(string name) { }
        public static DriveInfo[] GetDrives() { throw null; }
        public string Name { get { throw null; } }
        public long AvailableFreeSpace { get { throw null; } }
    }
}
