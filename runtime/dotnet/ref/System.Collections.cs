namespace System.Collections.Generic
{
    public class List<T>
    {
        public List() { }
        public int Count { get { throw null; } }
        public int Capacity { get { throw null; } set { } }
        public T this[int index] { get { throw null; } set { } }
        public void Add(T item) { }
        public bool Contains(T item) { throw null; }
        public void Insert(int index, T item) { }
        public void RemoveAt(int index) { }
        public void RemoveRange(int index, int count) { }
    }
}
