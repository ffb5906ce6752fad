using System;
using System.Collections;
using System.Collections.Generic;

namespace App {
    /// <summary>Calls of the platform that are recorded.</summary>
    static class Recorded {
        static int Parsed(string text) {
            try {
                return int.Parse(text);
            } catch (FormatException) {
                return -1;
            }
        }

        static double Wide(long a, double b) {
            // Something lies on the stack below the calls.
            return a + Math.Pow(Math.Max(a, 2L), b);
        }

        /// <summary>In its class no method has hooks.</summary>
        static class Inner {
            public static string Joined(ArrayList list) {
                lock (list) {
                    return string.Concat(string.Concat((string)list[0], "-"), (string)list[1]);
                }
            }
        }

        static IEnumerable<double> Digits() {
            yield return char.GetNumericValue('7');
        }

        static void Main() {
            Console.WriteLine("parsed " + Parsed("12") + " " + Parsed("boom"));
            Console.WriteLine("wide " + (int)Wide(3, 2));
            Console.WriteLine("joined " + Inner.Joined(new ArrayList { "a", "b" }));
            var map = new Hashtable();
            map["password=secret"] = "hidden";
            map.Remove("k");
            map.Clear();
            foreach (var digit in Digits()) {
                Console.WriteLine("digit " + digit);
            }
            int number;
            Console.WriteLine("tried " + int.TryParse("5", out number) + " " + number);
            try {
                new ArrayList().GetEnumerator().Reset();
                ((IEnumerator)new int[0].GetEnumerator()).Current.ToString();
            } catch (InvalidOperationException) {
                Console.WriteLine("thrown");
            }
            Console.WriteLine("replaced " + long.Parse("5") + " " + "ab".Trim());
        }
    }
}
