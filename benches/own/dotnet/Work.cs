namespace Bench;

/// <summary>What gets hooks: as small as what hooks are paid for. Each way of hooking has a copy of this class.</summary>
public class Work : IWork
{
    private int last;

    public int Do(int n, string text)
    {
        last = n ^ last;
        return last + text.Length;
    }
}
