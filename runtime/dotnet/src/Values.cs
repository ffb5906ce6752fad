using System;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Threading.Tasks;

namespace Weave.Runtime
{
    /// <summary>
    /// What woven code calls to record values, right in front of the hook that begins or ends a call. <c>place</c> says which value of
    /// the method it is, and whether it is of the call's end; <c>limit</c> is the longest text that is kept, in UTF-16 units;
    /// <c>mask</c> is a table of what is not kept, or null; <c>state</c>, of a method that can be switched, is what <see cref="Switched.Decide"/> said.
    /// </summary>
    /// <remarks>Nothing here changes what the program does, or throws. Only <c>Text</c> runs code of the program's.</remarks>
    [DebuggerStepThrough]
    public static class Values
    {
        /// <summary>
        /// What rules leave out of texts, from now on. Called where a method begins, in front of anything that is recorded of it.
        /// <c>mask</c> is a table of what is masked, or null; <c>how</c> has flags: 1 exceptions that leave the method <c>id</c> have no
        /// message; 2 the mask holds for values, too; 4 no messages, 8 no thread names, 16 no command line.
        /// </summary>
        public static void Hold(string mask, int how, int id)
        {
            if (Switch.On)
            {
                Secrets.Hold(mask, how, id);
            }
        }

        /// <summary>The first of two values that is not null.</summary>
        public static object First(object one, object other)
        {
            return one ?? other;
        }

        /// <summary>Records a value.</summary>
        public static void Value(bool v, int place, int limit, string mask, int id)
        {
            Word(Format.Boolean, v ? 1 : 0, place, limit, mask, id);
        }

        /// <summary>Records a value.</summary>
        public static void Value(char v, int place, int limit, string mask, int id)
        {
            Word(Format.Unit, v, place, limit, mask, id);
        }

        /// <summary>Records a value.</summary>
        public static void Value(sbyte v, int place, int limit, string mask, int id)
        {
            Word(Format.Signed, v, place, limit, mask, id);
        }

        /// <summary>Records a value.</summary>
        public static void Value(byte v, int place, int limit, string mask, int id)
        {
            Word(Format.Unsigned, v, place, limit, mask, id);
        }

        /// <summary>Records a value.</summary>
        public static void Value(short v, int place, int limit, string mask, int id)
        {
            Word(Format.Signed, v, place, limit, mask, id);
        }

        /// <summary>Records a value.</summary>
        public static void Value(ushort v, int place, int limit, string mask, int id)
        {
            Word(Format.Unsigned, v, place, limit, mask, id);
        }

        /// <summary>Records a value.</summary>
        public static void Value(int v, int place, int limit, string mask, int id)
        {
            Word(Format.Signed, v, place, limit, mask, id);
        }

        /// <summary>Records a value.</summary>
        public static void Value(uint v, int place, int limit, string mask, int id)
        {
            Word(Format.Unsigned, v, place, limit, mask, id);
        }

        /// <summary>Records a value.</summary>
        public static void Value(long v, int place, int limit, string mask, int id)
        {
            Word(Format.Signed, v, place, limit, mask, id);
        }

        /// <summary>Records a value.</summary>
        public static void Value(ulong v, int place, int limit, string mask, int id)
        {
            Word(Format.Unsigned, (long)v, place, limit, mask, id);
        }

        /// <summary>Records a value.</summary>
        public static void Value(float v, int place, int limit, string mask, int id)
        {
            Word(Format.Float, Bits(v), place, limit, mask, id);
        }

        /// <summary>Records a value.</summary>
        public static void Value(double v, int place, int limit, string mask, int id)
        {
            Word(Format.Double, Bits(v), place, limit, mask, id);
        }

        /// <summary>Records a value.</summary>
        public static void Value(string v, int place, int limit, string mask, int id)
        {
            if (Switch.On)
            {
                Recorder.Value(v, Format.Text, place, limit, mask, id);
            }
        }

        /// <summary>Records a value.</summary>
        public static void Value(object v, int place, int limit, string mask, int id)
        {
            if (Switch.On)
            {
                Recorder.Value(v, Format.Text, place, limit, mask, id);
            }
        }

        /// <summary>Records what an object's <c>ToString</c> says. While that runs, its thread records nothing.</summary>
        public static void Text(object v, int place, int limit, string mask, int id)
        {
            if (Switch.On)
            {
                Recorder.Value(v, Format.Other, place, limit, mask, id);
            }
        }

        /// <summary>Records a value of a call in this state.</summary>
        public static void Value(bool v, int place, int limit, string mask, int id, int state)
        {
            if (IsRecorded(state, mask, id))
            {
                Value(v, place, limit, mask, id);
            }
        }

        /// <summary>Records a value of a call in this state.</summary>
        public static void Value(char v, int place, int limit, string mask, int id, int state)
        {
            if (IsRecorded(state, mask, id))
            {
                Value(v, place, limit, mask, id);
            }
        }

        /// <summary>Records a value of a call in this state.</summary>
        public static void Value(sbyte v, int place, int limit, string mask, int id, int state)
        {
            if (IsRecorded(state, mask, id))
            {
                Value(v, place, limit, mask, id);
            }
        }

        /// <summary>Records a value of a call in this state.</summary>
        public static void Value(byte v, int place, int limit, string mask, int id, int state)
        {
            if (IsRecorded(state, mask, id))
            {
                Value(v, place, limit, mask, id);
            }
        }

        /// <summary>Records a value of a call in this state.</summary>
        public static void Value(short v, int place, int limit, string mask, int id, int state)
        {
            if (IsRecorded(state, mask, id))
            {
                Value(v, place, limit, mask, id);
            }
        }

        /// <summary>Records a value of a call in this state.</summary>
        public static void Value(ushort v, int place, int limit, string mask, int id, int state)
        {
            if (IsRecorded(state, mask, id))
            {
                Value(v, place, limit, mask, id);
            }
        }

        /// <summary>Records a value of a call in this state.</summary>
        public static void Value(int v, int place, int limit, string mask, int id, int state)
        {
            if (IsRecorded(state, mask, id))
            {
                Value(v, place, limit, mask, id);
            }
        }

        /// <summary>Records a value of a call in this state.</summary>
        public static void Value(uint v, int place, int limit, string mask, int id, int state)
        {
            if (IsRecorded(state, mask, id))
            {
                Value(v, place, limit, mask, id);
            }
        }

        /// <summary>Records a value of a call in this state.</summary>
        public static void Value(long v, int place, int limit, string mask, int id, int state)
        {
            if (IsRecorded(state, mask, id))
            {
                Value(v, place, limit, mask, id);
            }
        }

        /// <summary>Records a value of a call in this state.</summary>
        public static void Value(ulong v, int place, int limit, string mask, int id, int state)
        {
            if (IsRecorded(state, mask, id))
            {
                Value(v, place, limit, mask, id);
            }
        }

        /// <summary>Records a value of a call in this state.</summary>
        public static void Value(float v, int place, int limit, string mask, int id, int state)
        {
            if (IsRecorded(state, mask, id))
            {
                Value(v, place, limit, mask, id);
            }
        }

        /// <summary>Records a value of a call in this state.</summary>
        public static void Value(double v, int place, int limit, string mask, int id, int state)
        {
            if (IsRecorded(state, mask, id))
            {
                Value(v, place, limit, mask, id);
            }
        }

        /// <summary>Records a value of a call in this state.</summary>
        public static void Value(string v, int place, int limit, string mask, int id, int state)
        {
            if (IsRecorded(state, mask, id))
            {
                Value(v, place, limit, mask, id);
            }
        }

        /// <summary>Records a value of a call in this state.</summary>
        public static void Value(object v, int place, int limit, string mask, int id, int state)
        {
            if (IsRecorded(state, mask, id))
            {
                Value(v, place, limit, mask, id);
            }
        }

        /// <summary>Records what an object's <c>ToString</c> says, of a call in this state.</summary>
        public static void Text(object v, int place, int limit, string mask, int id, int state)
        {
            if (IsRecorded(state, mask, id))
            {
                Text(v, place, limit, mask, id);
            }
        }

        /// <summary>Records what a task gives when it is complete. To be called in front of <see cref="Hooks.Follow"/>.</summary>
        public static void Later<T>(Task<T> v, int place, int limit, string mask, int id)
        {
            if (Switch.On)
            {
                new Later<T>(v, Format.Text, place, limit, mask).Wait();
            }
        }

        /// <summary>The same for what the <c>ToString</c> of that says.</summary>
        public static void LaterText<T>(Task<T> v, int place, int limit, string mask, int id)
        {
            if (Switch.On)
            {
                new Later<T>(v, Format.Other, place, limit, mask).Wait();
            }
        }

        /// <summary>The same of a call in this state, behind <see cref="Spans.Leave"/>: one that does not stay ends now.</summary>
        public static void Later<T>(Task<T> v, int place, int limit, string mask, int id, int state)
        {
            Later(v, Format.Text, place, limit, mask, id, state);
        }

        /// <summary>The same for what the <c>ToString</c> of that says.</summary>
        public static void LaterText<T>(Task<T> v, int place, int limit, string mask, int id, int state)
        {
            Later(v, Format.Other, place, limit, mask, id, state);
        }

        private static void Later<T>(Task<T> v, int kind, int place, int limit, string mask, int id, int state)
        {
            if (!IsRecorded(state, mask, id) || v == null)
            {
                return;
            }
            if (Spans.Stays(state))
            {
                new Later<T>(v, kind, place, limit, mask).Wait();
            }
            else if (v.Status == TaskStatus.RanToCompletion)
            {
                Recorder.Value(v.Result, kind, place, limit, mask, id);
            }
        }

        /// <summary>Whether a call in this state is recorded. Its mask holds for messages and names in any case.</summary>
        private static bool IsRecorded(int state, string mask, int id)
        {
            if (Modes.IsRecorded(state))
            {
                return true;
            }
            if (mask != null)
            {
                Hold(mask, 0, id);
            }
            return false;
        }

        private static unsafe long Bits(float v)
        {
            return *(uint*)&v;
        }

        private static unsafe long Bits(double v)
        {
            return *(long*)&v;
        }

        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        private static void Word(int kind, long word, int place, int limit, string mask, int id)
        {
            if (Switch.On)
            {
                if (mask != null || Secrets.OfValues.Length != 0)
                {
                    if (mask != null)
                    {
                        Secrets.Hold(mask, 0, id); // first of all: the trace may begin next
                    }
                    Recorder.Lane().Masked(kind, word, place, limit, mask, id);
                    return;
                }
                Recorder.Lane().Value((long)(uint)place | (long)(uint)kind, word, id);
            }
        }
    }
}
