using System; using Lib;
namespace app { 
public class Box<T> { private T item; public int count = 3; private int hidden = 9; public Box(T t) { item = t; } public T Item { get { return item; } }
 [System.Runtime.CompilerServices.MethodImpl(System.Runtime.CompilerServices.MethodImplOptions.NoInlining)]
 public void Put(int n) { Program.Say("put " + n); } }
public static class Program { public static void Say(string s) { Console.WriteLine(s); }
 public static void Send(string topic, Message<string,int> m) { Say("send " + topic); }
 public static void Pass<U>(Message<U,string> m) { Say("pass"); }
 public static void Main() { Send("t", new Message<string,int> { Key = "k", Value = 5, Kept = 8 }); Send("n", null);
  Pass(new Message<int,string> { Key = 7, Value = "v", Kept = "kept" }); new Box<string>("s").Put(1); new Box<int>(4).Put(2); } } }
