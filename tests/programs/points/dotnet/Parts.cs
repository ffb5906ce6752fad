using System;
using System.Collections.Generic;
using System.Threading.Tasks;

namespace App {
    /// <summary>Fields of structs, and of generic types.</summary>
    public struct Spot {
        public int X;
        public string Name;
        public Money Money;
        public static int Spots;

        public Spot(int x) {
            X = x;
            Name = "spot";
            Money = new Money(x);
        }

        public int Twice() {
            X = X * 2;
            return X;
        }

        public override string ToString() {
            return "spot " + X;
        }
    }

    public struct Both<A, B> {
        public A First;
        public B Second;
        public int Times;

        public override string ToString() {
            return "both " + First + " " + Second;
        }

        public A Get() {
            Times++;
            return First;
        }
    }

    public class Held<T> {
        public T Value;
        public T[] All = new T[1];
        public int Times;
        public readonly string Fixed;
        public static int Held1;

        public Held(T value, string text) {
            Value = value;
            Fixed = text;
        }

        public T Get() {
            Times = Times + 1;
            All[0] = Value;
            return All[0];
        }

        public string Make<U>(U other) {
            return "" + new Held<U>(other, "made").Value + new Held<T>(Value, "mine").Times + new Held<List<T>>(null, "list").Times;
        }

        public async Task<int> Later() {
            await Task.Yield();
            Times = Times + 10;
            return Times;
        }
    }

    public class Parts {
        Spot spot = new Spot(3);

        static void Say(string text) {
            Console.WriteLine(text);
        }

        static Spot Given() {
            return new Spot(8);
        }

        static ref Spot Of(Spot[] spots) {
            return ref spots[0];
        }

        string Structs(Spot given, ref Spot other, bool more) {
            Spot local = given;
            local.X = 4;
            other.Name = "other";
            spot.Money.Cents = 9;
            Spot.Spots = 2;
            Spot[] all = { local };
            all[0].X = all[0].X + 1;
            Of(all).X = Of(all).X + 1;
            int chosen = (more ? local : other).X;
            return local.X + other.Name + spot.Money.Cents + Given().X + all[0].X + local.Twice() + Spot.Spots + chosen + new Spot(5).Name + given.X;
        }

        internal struct Raw {
            public int X;

            public override string ToString() {
                return "raw " + X;
            }
        }

        static unsafe string Pointers() {
            Raw raw = new Raw { X = 1 };
            Raw* at = &raw;
            at->X = at->X + 1;
            return "" + at->X;
        }

        static string Replaced(Spot spot) {
            spot.X = 40;
            int x = spot.X;
            int given = Given().X;
            int times = new Held<string>("kept", "text").Times;
            return x + " " + given + " " + times;
        }

        static string Generics() {
            Held<string> held = new Held<string>("held", "fixed");
            Both<string, int> both = new Both<string, int> { First = "first", Second = 2 };
            KeyValuePair<int, string> pair = new KeyValuePair<int, string>(1, "one");
            List<int> list = new List<int>(4);
            Held<int>.Held1 = 3;
            held.All[0] = held.Value + held.Fixed;
            both.Second = both.Second + 1;
            return held.Get() + held.Times + both.Get() + both.Second + both.Times + pair + list.Count + held.Make(5) + Held<int>.Held1;
        }

        public static void Run() {
            Spot other = new Spot(6);
            Say(new Parts().Structs(new Spot(7), ref other, false));
            Say(Replaced(new Spot(1)));
            Say(Generics());
            Say("" + new Held<string>("later", "l").Later().Result);
            Say(Pointers());
        }
    }
}
