using System;
using System.Collections.Generic;
using System.Reflection;
using System.Threading;

namespace Weave.Runtime
{
    /// <summary>
    /// Copies the symbols maps of all woven assemblies into the trace, so that it explains itself: of those that are
    /// loaded, and of those that will be.
    /// </summary>
    internal sealed class Symbols
    {
        private const string Resource = "Weave.Symbols";
        private const int Nap = 1;

        private readonly Store store;
        private readonly Gate gate = new Gate();
        private readonly List<Assembly> queue = new List<Assembly>();
        private readonly List<string> seen = new List<string>();
        private readonly AutoResetEvent wake = new AutoResetEvent(false);
        /// <summary>There is something to copy, or somebody copies.</summary>
        private volatile bool working = true;
        private int maps;
        /// <summary>The store's companion has all maps that were copied before.</summary>
        private bool shared;
        /// <summary>The number of assemblies at the last <see cref="Look"/>; and whether somebody is at it.</summary>
        private int looked;
        private int looking;
        private bool missing;

        internal Symbols(Store store)
        {
            this.store = store;
        }

        /// <summary>Looks at what is loaded, and from now on at what will be.</summary>
        internal void Start()
        {
            if (Host.IsCollectible)
            {
                Look();
                return;
            }
            AppDomain.CurrentDomain.AssemblyLoad += (sender, e) => Found(e.LoadedAssembly);
            foreach (Assembly assembly in AppDomain.CurrentDomain.GetAssemblies())
            {
                Found(assembly);
            }
            // It stays: where an assembly is loaded no thread can be started. Mono holds its loader's lock there, which the new
            // thread would wait for, and the old one for that.
            Host.Start(new Thread(Copy) { Name = "weave-symbols", IsBackground = true });
        }

        /// <summary>
        /// Looks at what is loaded now and copies it at once, where nothing may tell the library of what is loaded later. The
        /// header does not say that all have names.
        /// </summary>
        internal void Look()
        {
            Assembly[] loaded = AppDomain.CurrentDomain.GetAssemblies();
            if (loaded.Length == looked || Interlocked.Exchange(ref looking, 1) != 0)
            {
                return;
            }
            looked = loaded.Length;
            foreach (Assembly assembly in loaded)
            {
                Found(assembly);
            }
            while (queue.Count > 0)
            {
                Assembly next = queue[0];
                queue.RemoveAt(0);
                Copy(next);
            }
            working = false;
            Volatile.Write(ref looking, 0);
        }

        /// <summary>Lets the thread look what there is to do.</summary>
        internal void Wake()
        {
            wake.Set();
        }

        /// <summary>Waits until there is nothing to copy, or that long.</summary>
        internal void Wait(int milliseconds)
        {
            long until = Clock.Now() + milliseconds * 1000000L;
            while (working && Clock.Now() < until)
            {
                Thread.Sleep(Nap);
            }
        }

        /// <summary>Has the map copied if the assembly has one: by another thread, since this one is in the midst of something.</summary>
        private void Found(Assembly assembly)
        {
            try
            {
                if (assembly.IsDynamic || assembly.GetManifestResourceInfo(Resource) == null || !gate.Enter())
                {
                    return;
                }
                try
                {
                    string identity = Identity(assembly);
                    for (int i = 0; i < seen.Count; i++)
                    {
                        if (seen[i] == identity)
                        {
                            return;
                        }
                    }
                    seen.Add(identity);
                    store.Header.SetFlag(Header.AllSymbols, false);
                    working = true;
                    queue.Add(assembly);
                }
                finally
                {
                    gate.Leave();
                }
                wake.Set();
            }
            catch (Exception)
            {
                // The trace then lacks names; they can be given to the reader.
            }
        }

        private static string Identity(Assembly assembly)
        {
            string name = assembly.FullName;
            try
            {
                return name + Host.ModuleVersion(assembly);
            }
            catch (Exception)
            {
                return name; // hosts without metadata
            }
        }

        private void Copy()
        {
            Recorder.Mute(); // what reads resources may be woven
            while (true)
            {
                if (!shared && store.Companion != null)
                {
                    shared = true;
                    Share();
                }
                Assembly assembly = Next();
                if (assembly == null)
                {
                    wake.WaitOne();
                    continue;
                }
                Copy(assembly);
            }
        }

        private void Copy(Assembly assembly)
        {
            try
            {
                byte[] map = Host.Resource(assembly, Resource);
                missing |= !store.Symbols(maps++, map);
                if (shared)
                {
                    Share(map);
                }
            }
            catch (Exception)
            {
                missing = true;
            }
        }

        private void Share(byte[] map)
        {
            try
            {
                store.Companion.Add(map);
            }
            catch (Exception)
            {
                // It is no map, or there is no memory: its methods stay as the rules say.
            }
        }

        /// <summary>Gives the store's companion what was copied before there was one.</summary>
        private void Share()
        {
            try
            {
                foreach (Assembly assembly in AppDomain.CurrentDomain.GetAssemblies())
                {
                    if (!assembly.IsDynamic && assembly.GetManifestResourceInfo(Resource) != null && IsCopied(assembly))
                    {
                        Share(Host.Resource(assembly, Resource));
                    }
                }
            }
            catch (Exception)
            {
                // The rest stays as the rules say.
            }
        }

        /// <summary>Whether an assembly was copied; if not, it is yet to be found, or waits.</summary>
        private bool IsCopied(Assembly assembly)
        {
            string identity = Identity(assembly);
            while (!gate.Enter())
            {
                Thread.Sleep(Nap);
            }
            try
            {
                bool copied = false;
                for (int i = 0; i < seen.Count; i++)
                {
                    copied |= seen[i] == identity;
                }
                for (int i = 0; i < queue.Count; i++)
                {
                    copied &= Identity(queue[i]) != identity;
                }
                return copied;
            }
            finally
            {
                gate.Leave();
            }
        }

        /// <summary>The next that is to be copied; if there is none, that is the end of the work.</summary>
        private Assembly Next()
        {
            if (!gate.Enter())
            {
                return null;
            }
            try
            {
                if (queue.Count == 0)
                {
                    store.Header.SetFlag(Header.AllSymbols, !missing);
                    working = false;
                    return null;
                }
                Assembly next = queue[0];
                queue.RemoveAt(0);
                return next;
            }
            finally
            {
                gate.Leave();
            }
        }
    }
}
