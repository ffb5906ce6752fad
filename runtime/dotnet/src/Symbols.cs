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
        /// <summary>Somebody looks or copies, and asks for more when done with that.</summary>
        private volatile bool working = true;
        private int maps;
        private bool missing;

        internal Symbols(Store store)
        {
            this.store = store;
        }

        /// <summary>Looks at what is loaded, and from now on at what will be.</summary>
        internal void Start()
        {
            AppDomain.CurrentDomain.AssemblyLoad += (sender, e) => Found(e.LoadedAssembly);
            foreach (Assembly assembly in AppDomain.CurrentDomain.GetAssemblies())
            {
                Found(assembly);
            }
            Assembly first = Next();
            if (first != null)
            {
                StartCopying(first);
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
        private void Found(Assembly assembly)
        {
            try
            {
                if (assembly.IsDynamic || assembly.GetManifestResourceInfo(Resource) == null || !gate.Enter())
                {
                    return;
                }
                bool start = false;
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
                    start = !working;
                    working = true;
                    if (!start)
                    {
                        queue.Add(assembly);
                    }
                }
                finally
                {
                    gate.Leave();
                }
                if (start)
                {
                    StartCopying(assembly);
                }
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
                return name + assembly.ManifestModule.ModuleVersionId.ToString();
            }
            catch (Exception)
            {
                return name; // hosts without metadata
            }
        }

        private void StartCopying(Assembly first)
        {
            new Thread(() => Copy(first)) { Name = "weave-symbols", IsBackground = true }.Start();
        }

        private void Copy(Assembly assembly)
        {
            Recorder.Mute(); // what reads resources may be woven
            while (assembly != null)
            {
                try
                {
                    missing |= !store.Symbols(maps++, Read(assembly));
                }
                catch (Exception)
                {
                    missing = true;
                }
                assembly = Next();
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
