using System;
using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Weave.Runtime
{
    /// <summary>
    /// The hooks that woven code calls of methods that can be switched while the program runs. What the first of them returns says what
    /// becomes of the call, and the others take it: so a call ends as it began, whatever is switched meanwhile.
    /// <c>rules</c> is what the rules say of the method (<see cref="Modes"/>).
    /// </summary>
    [DebuggerStepThrough]
    public static class Switched
    {
        /// <summary>The method <paramref name="id"/> begins. Returns the call's state.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public static int Enter(int rules, int id)
        {
            return Modes.IsOff(id) ? Modes.Nothing : Modes.Enter(rules, id);
        }

        /// <summary>Returns the call's state, where values are recorded in front of its begin.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public static int Decide(int rules, int id)
        {
            return Modes.IsOff(id) ? Modes.Nothing : Modes.Decide(rules, id);
        }

        /// <summary>The method <paramref name="id"/> begins, behind <see cref="Decide"/>.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public static void Begin(int state, int id)
        {
            if (Modes.On && state != Modes.Nothing)
            {
                Modes.Begin(state, id);
            }
        }

        /// <summary>The method <paramref name="id"/> returns.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public static void Exit(int state, int id)
        {
            if (Modes.On && state != Modes.Nothing)
            {
                Modes.Exit(state, id);
            }
        }

        /// <summary>
        /// A logical call of the method <paramref name="id"/> begins, and does not run yet. What becomes of it is decided here; one that is not
        /// recorded is to the other hooks as one that has ended. Of one that is sampled, <c>call</c> knows it.
        /// </summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public static void Begin(ref long call, int rules, int id)
        {
            if (Modes.On)
            {
                if (Modes.IsOff(id))
                {
                    call = LogicalCalls.Ended;
                }
                else
                {
                    Modes.Begin(ref call, rules, id);
                }
            }
        }

        /// <summary>A logical call runs on this thread. If it begins here, it is decided about.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public static void Resume(ref long call, int rules, int id)
        {
            if (Modes.On && call != LogicalCalls.Ended)
            {
                if (call == 0 && (rules & Modes.Decided) == 0 && Modes.IsOff(id))
                {
                    call = LogicalCalls.Ended;
                }
                else
                {
                    Modes.Resume(ref call, rules, id);
                }
            }
        }

        /// <summary>The values that a logical call begins with are recorded, behind <see cref="Decide"/>: its first piece is what comes next.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public static void Pass(int state, int id)
        {
            if (Modes.On && state != Modes.Nothing)
            {
                Modes.Pass(state, id);
            }
        }

        /// <summary>The exception <paramref name="e"/> leaves the method <paramref name="id"/>.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public static void Error(Exception e, int state, int id)
        {
            if (Modes.On && state != Modes.Nothing)
            {
                Modes.Error(e, state, id);
            }
        }
    }
}
