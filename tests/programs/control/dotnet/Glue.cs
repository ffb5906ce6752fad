using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Threading;

/// <summary>Short methods: `Left...` does nothing itself that takes long, and what it calls is recorded or quick.</summary>
namespace App
{
    public interface IBare
    {
        int Ask(int n);
    }

    public interface IServed
    {
        int Serve(int n, int m);
    }

    public class ToldAttribute : Attribute
    {
    }

    public class Server : IServed
    {
        int IServed.Serve(int n, int m)
        {
            int sum = 0;
            for (int i = n; i < m; i++)
            {
                sum += i;
            }
            return sum;
        }
    }

    public class Glue
    {
        private readonly List<int> all = new List<int>();

        public int LeftCall(IServed served)
        {
            return served.Serve(1, 2);
        }

        public int LeftList(int n)
        {
            return all.Count + all[n];
        }

        public int LeftChain(IServed served)
        {
            return LeftCall(served) + LeftList(0);
        }

        public int StaysUnknown(IBare bare)
        {
            return bare.Ask(1);
        }

        public void StaysWaiting()
        {
            Thread.Sleep(1);
        }

        [MethodImpl(MethodImplOptions.Synchronized)]
        public int StaysLocked(IServed served)
        {
            return served.Serve(1, 2);
        }

        public int StaysLoop(int n)
        {
            while (n > 3)
            {
                n -= 3;
            }
            return n;
        }

        public int[] StaysArray(int n)
        {
            return new int[n];
        }

        [Told]
        public int StaysTold(IServed served)
        {
            return served.Serve(1, 2);
        }

        public IEnumerable<int> StaysIterator(IServed served)
        {
            yield return served.Serve(1, 2);
        }
    }
}
