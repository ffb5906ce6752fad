using System;
using System.Collections.Generic;
using System.IO;
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
        private bool copying;
        private volatile bool working;
        private int maps;
        private bool missing;

        internal Symbols(Store store)
        {
            this.store = store;
        }

        internal void Start()
        {
            AppDomain.CurrentDomain.AssemblyLoad += (sender, e) => Found(e.LoadedAssembly);
            bool any = false;
            foreach (Assembly assembly in AppDomain.CurrentDomain.GetAssemblies())
            {
                any |= Found(assembly);
            }
            if (!any)
            {
                store.Header.SetFlag(Header.AllSymbols, true);
            }
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
        private bool Found(Assembly assembly)
        {
            try
            {
                if (assembly.IsDynamic || assembly.GetManifestResourceInfo(Resource) == null || !gate.Enter())
                {
                    return false;
                }
                bool start = false;
                try
                {
                    string identity = Identity(assembly);
                    for (int i = 0; i < seen.Count; i++)
                    {
                        if (seen[i] == identity)
                        {
                            return false;
                        }
                    }
                    seen.Add(identity);
                    queue.Add(assembly);
                    store.Header.SetFlag(Header.AllSymbols, false);
                    working = true;
                    start = !copying;
                    copying = true;
                }
                finally
                {
                    gate.Leave();
                }
                if (start)
                {
                    new Thread(Copy) { Name = "weave-symbols", IsBackground = true }.Start();
                }
                return true;
            }
            catch (Exception)
            {
                return false;
            }
        }

        private static string Identity(Assembly assembly)
        {
            string name = assembly.FullName;
            try
            {
                return name + assembly.ManifestModule.ModuleVersionId.ToString();
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
                Assembly assembly = null;
                if (!gate.Enter())
                {
                    return;
                }
                try
                {
                    if (queue.Count == 0)
                    {
                        if (!missing)
                        {
                            store.Header.SetFlag(Header.AllSymbols, true);
                        }
                        copying = false;
                        working = false;
                        return;
                    }
                    assembly = queue[0];
                    queue.RemoveAt(0);
                }
                finally
                {
                    gate.Leave();
                }
                try
                {
                    missing |= !store.Symbols(maps++, Read(assembly));
                }
                catch (Exception)
                {
                    missing = true;
                }
            }
        }

        private static byte[] Read(Assembly assembly)
        {
            using (Stream stream = assembly.GetManifestResourceStream(Resource))
            {
                var bytes = new byte[stream.Length];
                int at = 0;
                for (int n; at < bytes.Length && (n = stream.Read(bytes, at, bytes.Length - at)) > 0;)
                {
                    at += n;
                }
                return bytes;
            }
        }
    }
}
