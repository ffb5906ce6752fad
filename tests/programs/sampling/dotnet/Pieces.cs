using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

namespace app
{
    /// <summary>
    /// As <see cref="Requests"/>, of methods that run in pieces: async ones, and an iterator. Each thread runs what it has begun, several requests in turns, but for
    /// what goes on in a thread of the pool.
    /// </summary>
    public static class Pieces
    {
        private const int Threads = 3;
        private const int AtOnce = 8;
        private static long sum;

        public static void Main()
        {
            Console.WriteLine(Threads);
            int step = 0;
            for (string line; (line = Console.In.ReadLine()) != null; step++)
            {
                int n = int.Parse(line);
                var all = new Thread[Threads];
                for (int i = 0; i < Threads; i++)
                {
                    all[i] = new Thread(() => Run(n));
                    all[i].Name = "step " + step + "." + i;
                    all[i].Start();
                }
                foreach (Thread t in all)
                {
                    t.Join();
                }
                Console.WriteLine(sum);
            }
        }

        private static void Run(int n)
        {
            var turns = new Turns();
            SynchronizationContext.SetSynchronizationContext(turns);
            for (int k = 0; k < n;)
            {
                var some = new List<Task>();
                for (; k < n && some.Count < AtOnce; k++)
                {
                    some.Add(Serve(k));
                }
                Task all = Task.WhenAll(some);
                all.ContinueWith(_ => turns.Post(null, null), TaskScheduler.Default);
                turns.Until(all);
            }
        }

        /// <summary>One request: they take turns.</summary>
        internal static async Task Serve(int k)
        {
            Audit(k);
            if (k % 3 == 0)
            {
                await Task.Yield();
            }
            if (k % 2 == 0)
            {
                Interlocked.Add(ref sum, await Order(k, 2));
                return;
            }
            try
            {
                await Report(k);
            }
            catch (InvalidOperationException)
            {
                Interlocked.Increment(ref sum);
            }
        }

        /// <summary>Calls itself, and what fails.</summary>
        internal static async Task<long> Order(int k, int deep)
        {
            if ((k + deep) % 5 == 0)
            {
                await Task.Yield();
            }
            long result = deep == 0 ? await Load(k) : await Order(k, deep - 1).ConfigureAwait(k % 3 == 0);
            try
            {
                await Fails(k);
            }
            catch (InvalidOperationException)
            {
                result += await Load(k + deep);
            }
            return result;
        }

        /// <summary>Fails itself.</summary>
        internal static async Task Report(int k)
        {
            long result = await Load(k);
            foreach (Task<long> one in Rare(k))
            {
                result += await one.ConfigureAwait(k % 5 != 0);
                if (k % 4 == 1)
                {
                    break;
                }
            }
            result += await Shared(k);
            if (result >= 0)
            {
                throw new InvalidOperationException("always");
            }
        }

        internal static async Task<long> Load(int k)
        {
            long result = 0;
            for (int i = 0; i < k % 4; i++)
            {
                result += i;
                await Wait(k + i);
            }
            Audit(k);
            return result;
        }

        internal static async Task Fails(int k)
        {
            if (k % 3 == 1)
            {
                await Wait(k);
            }
            if (k >= 0)
            {
                throw new InvalidOperationException("always");
            }
        }

        /// <summary>Of another rate. It begins where it is first asked, and goes on wherever that is.</summary>
        internal static IEnumerable<Task<long>> Rare(int k)
        {
            yield return Load(k);
            yield return Task.FromResult(k & 0xFFL);
        }

        /// <summary>Of two aspects, one of which records all calls.</summary>
        internal static async Task<long> Shared(int k)
        {
            await Wait(k);
            return k * 31L & 0xFFFF;
        }

        /// <summary>Always recorded.</summary>
        internal static void Audit(int k)
        {
            if (k < 0)
            {
                Interlocked.Decrement(ref sum);
            }
        }

        /// <summary>Goes on at once, in its turn, or in the pool; who waits for it does so as he asks.</summary>
        private static Task Wait(int k)
        {
            switch (k % 4)
            {
                case 0:
                    return Task.CompletedTask;
                case 1:
                    return Task.Run(() => { });
                case 2:
                    return Later();
                default:
                    return Task.Delay(1);
            }
        }

        private static async Task Later()
        {
            await Task.Yield();
        }

        /// <summary>What a thread has to go on with.</summary>
        private sealed class Turns : SynchronizationContext
        {
            private readonly Queue<KeyValuePair<SendOrPostCallback, object>> waiting = new Queue<KeyValuePair<SendOrPostCallback, object>>();

            public override void Post(SendOrPostCallback goOn, object state)
            {
                lock (waiting)
                {
                    waiting.Enqueue(new KeyValuePair<SendOrPostCallback, object>(goOn, state));
                    Monitor.Pulse(waiting);
                }
            }

            internal void Until(Task end)
            {
                while (!end.IsCompleted)
                {
                    KeyValuePair<SendOrPostCallback, object> next;
                    lock (waiting)
                    {
                        while (waiting.Count == 0)
                        {
                            Monitor.Wait(waiting);
                        }
                        next = waiting.Dequeue();
                    }
                    next.Key?.Invoke(next.Value);
                }
            }
        }
    }
}
