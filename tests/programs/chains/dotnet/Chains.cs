using System;

namespace app
{
    /// Objects whose members chains ask for. What Java has as a class of its own may be a struct here.
    public class Chains
    {
        public interface Named
        {
            string name();
        }

        public struct Place
        {
            private readonly int number;

            public Place(int number) { this.number = number; }

            public int x() { return number; }
        }

        public class Base
        {
            public long id() { return 1L << 40; }

            public virtual Place place() { return new Place(-1); }
        }

        public class Person : Base, Named
        {
            private readonly string ownName;
            private readonly Person ownBoss;
            private readonly Uri ownHome;

            public Person(string name, Person boss, string home)
            {
                ownName = name;
                ownBoss = boss;
                ownHome = home == null ? null : new Uri(home);
            }

            public string name() { return ownName; }

            public Person boss() { return ownBoss; }

            public Uri home() { return ownHome; }

            public int age() { return ownName.Length; }

            public double ratio() { return 0.5; }

            public bool isBoss() { return ownBoss == null; }

            public char letter() { return ownName[0]; }

            public override Place place() { return new Place(ownName.Length); }

            public string[] tags() { return new[] { ownName, "x" }; }

            public string fails() { throw new InvalidOperationException("no " + ownName); }

            /// It is woven and has chains itself: while a chain of the thread runs, no other does.
            public string deep() { return visit(this, 0); }
        }

        static string visit(Person person, int n)
        {
            string said = person.name() + n;
            person = null;
            return said;
        }

        static Person make(Named named, bool fail)
        {
            if (fail) throw new ArgumentException("not " + (named == null ? "one" : named.name()));
            return named == null ? null : new Person(named.name() + "!", null, null);
        }

        public static void Main()
        {
            Person boss = new Person("Ann", null, "https://a.example/ann?q=1");
            Person person = new Person("Bo", boss, null);
            Console.WriteLine(visit(boss, 1));
            Console.WriteLine(visit(person, 2));
            Console.WriteLine(make(person, false).name());
            Console.WriteLine(make(null, false) == null ? "null" : "made");
            foreach (Named named in new Named[] { boss, null })
            {
                try
                {
                    make(named, true);
                }
                catch (ArgumentException e)
                {
                    Console.WriteLine(e.Message);
                }
            }
        }
    }
}
