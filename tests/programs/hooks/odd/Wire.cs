using System;

namespace Wire {
/// <summary>Types of another assembly that need care.</summary>
public ref struct Reader {
    public ReadOnlySpan<byte> Data;
    public int At;
    public int Next() { return Data[At++]; }
}

public struct Plain {
    public int X;
}

public abstract class Base {
    protected struct Parameters { public int V; }
    protected class Keeper { public int V = 7; }
}
}
