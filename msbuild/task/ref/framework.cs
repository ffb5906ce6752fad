// What the task uses of Microsoft.Build.Framework 15.1, as signatures alone: so it runs in each MSBuild since.

[assembly: System.Reflection.AssemblyVersion("15.1.0.0")]

namespace Microsoft.Build.Framework
{
    public interface ITaskHost { }

    public interface ITask
    {
        IBuildEngine BuildEngine { get; set; }
        ITaskHost HostObject { get; set; }
        bool Execute();
    }

    public interface IBuildEngine
    {
        void LogErrorEvent(BuildErrorEventArgs e);
        void LogWarningEvent(BuildWarningEventArgs e);
        void LogMessageEvent(BuildMessageEventArgs e);
    }

    public enum MessageImportance { High, Normal, Low }

    public class BuildErrorEventArgs
    {
        public BuildErrorEventArgs(string subcategory, string code, string file, int lineNumber, int columnNumber, int endLineNumber,
            int endColumnNumber, string message, string helpKeyword, string senderName) { throw null; }
    }

    public class BuildWarningEventArgs
    {
        public BuildWarningEventArgs(string subcategory, string code, string file, int lineNumber, int columnNumber, int endLineNumber,
            int endColumnNumber, string message, string helpKeyword, string senderName) { throw null; }
    }

    public class BuildMessageEventArgs
    {
        public BuildMessageEventArgs(string message, string helpKeyword, string senderName, MessageImportance importance) { throw null; }
    }
}
