namespace System.Data
{
    public enum CommandType
    {
        Text = 1,
        StoredProcedure = 4,
        TableDirect = 512,
    }

    public interface IDbCommand
    {
        string CommandText { get; set; }
        CommandType CommandType { get; set; }
    }
}
