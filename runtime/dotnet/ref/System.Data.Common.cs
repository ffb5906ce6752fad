namespace System.Data
{
    public interface IDbCommand
    {
        string CommandText { get; set; }
    }
}
