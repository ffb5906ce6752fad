using System;
using System.Threading;

namespace Weave.Runtime
{
    /// <summary>The background thread that has chunks ready before they are needed, so that no thread of the program waits for the disk.</summary>
    internal sealed class Supplier
    {
        /// <summary>After it could do nothing it tries again, in milliseconds: the program's threads help themselves meanwhile.</summary>
        private const int Pause = 100;

        private readonly Store store;
        private readonly AutoResetEvent wake = new AutoResetEvent(false);
        private volatile bool asleep;

        internal Supplier(Store store)
        {
            this.store = store;
        }

        internal void Start()
        {
            Host.Start(new Thread(Run) { Name = "weave-trace", IsBackground = true });
        }

        /// <summary>Lets it look whether there are few chunks. Costs next to nothing while it works.</summary>
        internal void Wake()
        {
            if (asleep)
            {
                asleep = false;
                wake.Set();
            }
        }

        /// <summary>The shorter of two times, of which -1 is for ever.</summary>
        private static int Sooner(int a, int b)
        {
            return a < 0 ? b : b < 0 ? a : Math.Min(a, b);
        }

        private void Run()
        {
            Recorder.Mute(); // what writes files may be woven
            while (true)
            {
                try
                {
                    store.Counts.Turn();
                    Companion companion = store.Companion;
                    if (companion != null)
                    {
                        companion.Turn();
                    }
                    if (store.Wants)
                    {
                        if (!store.Supply())
                        {
                            wake.WaitOne(Pause);
                        }
                        continue;
                    }
                    asleep = true;
                    Thread.MemoryBarrier(); // who takes a chunk from here on wakes it, or is seen
                    if (!store.Wants)
                    {
                        wake.WaitOne(Sooner(store.Counts.Pause, companion == null ? -1 : companion.Pause));
                    }
                    asleep = false;
                }
                catch (Exception)
                {
                    Thread.Sleep(Pause);
                }
            }
        }
    }
}
