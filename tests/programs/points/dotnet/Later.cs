using System;
using System.Collections.Generic;
using System.IO;
using System.Threading.Tasks;

namespace App {
    /// <summary>Async methods and iterators: their code lies in state machines.</summary>
    public class Later {
        public int Count;
        public string Last = "none";
        public static int All;

        static void Say(string text) {
            Console.WriteLine(text);
        }

        public async Task<string> Fetch(string name, int times) {
            Last = name;
            for (int i = 0; i < times; i++) {
                await Task.Delay(1);
                Count++;
                await Task.Yield();
            }
            Made made = new Made(name + await Text(Count));
            All += Count;
            return made + " " + Last;
        }

        public async Task<int> Without() {
            await Task.Yield();
            throw new Odd("without");
        }

        static async Task<string> Text(int n) {
            await Task.Yield();
            return new Made("text " + n).ToString();
        }

        public async Task<int> Fails(int how) {
            try {
                await Task.Yield();
                if (how == 0) {
                    throw new FileNotFoundException("zero");
                }
                if (how == 1) {
                    throw new InvalidOperationException("one");
                }
                if (how == 2) {
                    throw new Odd("two");
                }
                return int.Parse("x" + how);
            } catch (FileNotFoundException e) {
                await Task.Yield();
                Say("not found " + e.Message);
                return 1;
            } catch (InvalidOperationException) {
                Say("invalid");
                return 2;
            } catch (FormatException) {
                Count = 50;
                throw;
            } finally {
                await Task.Yield();
                Say("finally " + Count);
            }
        }

        static async Task<string> Catches(Later later, int how) {
            try {
                return "returned " + await later.Fails(how);
            } catch (IOException e) {
                return "caught " + e.Message;
            } catch {
                return "something";
            }
        }

        /// <summary>Never waits.</summary>
        static async Task<int> AtOnce(Later later) {
            if (later.Count == 0) {
                await Task.Yield();
            }
            later.Count = 7;
            throw new Odd("at once " + later.Count);
        }

        public IEnumerable<int> Each(int n) {
            try {
                for (int i = 0; i < n; i++) {
                    Count += i;
                    yield return Count;
                }
                if (n > 2) {
                    throw new Odd("each");
                }
            } finally {
                Last = "each " + new Made("end");
            }
        }

        static IEnumerable<object> Things() {
            yield return new Made("first");
            yield return new List<int>();
        }

        public IEnumerable<T> Same<T>(T value) {
            Count = 30;
            yield return value;
            Last = "same";
        }

        public Func<int, Task<int>> Lambda() {
            int more = 5;
            return async n => {
                await Task.Yield();
                Count = n + more;
                return Count;
            };
        }

        struct Pair {
            public static int Made;

            public async Task<int> Sum() {
                await Task.Yield();
                Made++;
                return Made;
            }
        }

        public async Task<int> Replaced() {
            await Task.Yield();
            Count = 3;
            return Count + 1;
        }

        /// <summary>What the state machine of a generic type names, it names in its own instance.</summary>
        public class Of<T> {
            public async Task<string> Show(Later later, T value) {
                await Task.Yield();
                later.Last = "" + value + this;
                return later.Last;
            }

            public override string ToString() {
                return "Of";
            }
        }

        async Task<int> Lines(int n) {
            int sum = 0;
            for (int i = 0; i < n; i++) {
                sum += await Later.One(); // a line that waits
            }
            return sum;
        }

        static async Task<int> One() {
            await Task.Yield();
            return 1;
        }

        public static void Run() {
            Later later = new Later();
            Say("" + later.Lines(2).Result);
            Say(later.Fetch("name", 2).Result);
            for (int how = 0; how < 4; how++) {
                Say(Catches(later, how).Result);
            }
            try {
                AtOnce(later).Wait();
            } catch (AggregateException e) {
                Say(e.InnerException.Message);
            }
            try {
                later.Without().Wait();
            } catch (AggregateException e) {
                Say(e.InnerException.Message);
            }
            for (int n = 2; n < 4; n++) {
                try {
                    foreach (int i in later.Each(n)) {
                        Say("each " + i);
                    }
                } catch (Odd e) {
                    Say(e.Message);
                }
            }
            foreach (int i in later.Each(3)) {
                break;
            }
            Say(later.Last);
            foreach (object one in Things()) {
                Say("" + (one is Made));
            }
            foreach (string text in later.Same("same")) {
                Say(text + later.Count);
            }
            Say("" + later.Lambda()(4).Result);
            Say("" + new Pair().Sum().Result);
            Say("" + later.Replaced().Result);
            Say(new Of<string>().Show(later, "shown ").Result);
        }
    }
}
