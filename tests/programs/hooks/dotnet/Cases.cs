using System;

namespace app
{
    public interface Shape<T>
    {
        int area(T of);
    }

    public class Oops : Exception
    {
        public Oops(string message) : base(message)
        {
        }
    }

    /// <summary>Methods of all shapes that own hooks meet. The Java program beside it does the same.</summary>
    public class Cases : Shape<string> {
        private readonly string name;

        public Cases(string name) {
            this.name = name + ".";
        }

        public bool prims(bool a, sbyte b, short c, char d, int e, long f, float g, double h, string i, int[] j) {
            return a;
        }

        public static void nothing() {
            say("nothing");
        }

        public int area(string of) {
            return of.Length;
        }

        public static T same<T>(T value) {
            say("same");
            return value;
        }

        public string overwrite(int n, string s) {
            n = n + 1;
            s = s + "!";
            return s + n;
        }

        public static int loop(int n) {
            do {
                n = n - 1;
            } while (n > 0);
            return n;
        }

        public static int five(int a, int b, int c, int d, int e) {
            return a + b + c + d + e;
        }

        public static int six(int a, int b, int c, int d, int e, int f) {
            return a + b + c + d + e + f;
        }

        public static long seventeen(long a, long b, long c, long d, double e, long f, long g, double h, int i) {
            a = a + i;
            return a + b + c + d + f + g + (long) e + (long) h;
        }

        public static sbyte giveByte(int n) {
            return n > 0 ? (sbyte)n : (sbyte)0;
        }

        public static short giveShort(int n) {
            return (short) -n;
        }

        public static char giveChar(int n) {
            return (char) ('a' + n);
        }

        public static long giveLong(int n) {
            if (n > 1) {
                return 1L << 40;
            }
            return n;
        }

        public static float giveFloat(int n) {
            return n + 0.5f;
        }

        public static double giveDouble(int n) {
            return n + 0.25;
        }

        public static string giveText(int n) {
            return n > 0 ? "text" : null;
        }

        public static int[] giveArray(int n) {
            return new int[] {n, n + 1};
        }

        public int inTry(int n) {
            try {
                if (n == 0) {
                    return 10;
                }
                return 20 / (n - 1);
            } catch (DivideByZeroException) {
                return 30;
            } finally {
                say("finally");
            }
        }

        public int inLock(int n) {
            lock (this) {
                if (n > 0) {
                    return n;
                }
                throw new Oops("in lock");
            }
        }

        public static void fails(string why) {
            throw new Oops(why);
        }

        public static int never(int n) {
            while (true) {
                if (n-- == 0) {
                    throw new Oops("never");
                }
            }
        }

        public static int goesOn(int n) {
            say("goes on");
            return n;
        }

        public static int unguarded(int n) {
            say("unguarded");
            return n;
        }

        public static int twice(int n) {
            say("twice");
            return n * 2;
        }

        public override string ToString() {
            say("toString");
            return name;
        }

        internal static void say(string text) {
            Console.WriteLine(text);
        }

        public static void Main(string[] args) {
            if (args.Length > 0) {
                if (args[0] == "Around") {
                    Around.Run();
                } else if (args[0] == "Bodies") {
                    Bodies.Run();
                } else {
                    Changes.Run(args);
                }
                return;
            }
            Cases cases = new Cases("c");
            cases.prims(true, (sbyte)1, (short) 2, 'x', 3, 4L, 1.5f, 2.5, "text", new int[] {5, 6});
            nothing();
            Shape<string> shape = cases;
            say("" + shape.area("four"));
            say(same("it"));
            say(cases.overwrite(1, "s"));
            say("" + loop(3));
            say("" + five(1, 2, 3, 4, 5));
            say("" + six(1, 2, 3, 4, 5, 6));
            say("" + seventeen(1, 2, 3, 4, 5.5, 6, 7, 8.5, 9));
            say("" + giveByte(3) + giveShort(4) + giveChar(1) + giveLong(2) + giveText(1) + giveArray(1).Length);
            giveFloat(1);
            giveDouble(1);
            giveText(0);
            say("" + cases.inTry(0) + cases.inTry(1) + cases.inTry(2));
            say("" + cases.inLock(1));
            for (int i = 0; i < 3; i++) {
                try {
                    if (i == 0) {
                        cases.inLock(0);
                    } else if (i == 1) {
                        fails("because");
                    } else {
                        never(2);
                    }
                } catch (Oops e) {
                    say("caught " + e.Message);
                }
            }
            say("" + goesOn(5));
            try {
                unguarded(6);
            } catch (InvalidOperationException e) {
                say("reached: " + e.Message);
            }
            say("" + twice(4));
            say(cases.ToString());
            Many.main(args);
        }
    }
}
