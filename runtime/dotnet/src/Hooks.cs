using System;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Threading.Tasks;

namespace Weave.Runtime
{
    /// <summary>
    /// The hooks that woven code calls. Of an ordinary method: one when it is entered, and then exactly one when it is
    /// left, by a return or by an exception. Of a method that runs in pieces, maybe on several threads (async, iterators):
    /// those that take its call, a field of its state machine that starts as 0 and is nobody else's.
    /// </summary>
    /// <remarks>
    /// A hook never throws and never changes what the program does; what it cannot record it counts. When tracing is
    /// off, <see cref="Switch.On"/> is a constant and the compiler removes the hooks.
    /// </remarks>
    [DebuggerStepThrough]
    public static class Hooks
    {
        /// <summary>The method <paramref name="id"/> begins.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public static void Enter(int id)
        {
            if (Switch.On)
            {
                Recorder.Enter(id);
            }
        }

        /// <summary>The method <paramref name="id"/> returns.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public static void Exit(int id)
        {
            if (Switch.On)
            {
                Recorder.Exit(id);
            }
        }

        /// <summary>The exception <paramref name="e"/> leaves the method <paramref name="id"/>.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public static void Error(Exception e, int id)
        {
            if (Switch.On)
            {
                Recorder.Error(e, id);
            }
        }

        /// <summary>The method <paramref name="id"/> begins, which is only counted: nothing tells when it ends.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public static void Count(int id)
        {
            if (Switch.On)
            {
                Recorder.Count(id);
            }
        }

        /// <summary>The method <paramref name="id"/> begins, whose calls are summed up here and are not in the trace one by one.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public static void Start(int id)
        {
            if (Switch.On)
            {
                Recorder.Start(id);
            }
        }

        /// <summary>The method <paramref name="id"/>, which is summed up, returns.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public static void Stop(int id)
        {
            if (Switch.On)
            {
                Recorder.Stop(id, false);
            }
        }

        /// <summary>The exception <paramref name="e"/> leaves the method <paramref name="id"/>, which is summed up.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public static void Failed(Exception e, int id)
        {
            if (Switch.On)
            {
                Recorder.Stop(id, true);
            }
        }

        /// <summary>A logical call of the method <paramref name="id"/> begins, and does not run yet.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public static void Begin(ref long call, int id)
        {
            if (Switch.On)
            {
                LogicalCalls.Begin(ref call, id);
            }
        }

        /// <summary>A logical call begins, if it has not begun yet, and runs on this thread.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public static void Resume(ref long call, int id)
        {
            if (Switch.On)
            {
                LogicalCalls.Resume(ref call, id);
            }
        }

        /// <summary>A logical call leaves this thread; it goes on later, or is abandoned.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public static void Suspend(ref long call, int id)
        {
            if (Switch.On && call > 0)
            {
                LogicalCalls.Suspend(ref call, id);
            }
        }

        /// <summary>
        /// A logical call of an iterator hands out an element and leaves this thread, or ends. One hook for both, so that
        /// woven code has no branch of its own, which tools that measure coverage would count.
        /// </summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public static void Moved(bool more, ref long call, int id)
        {
            if (Switch.On && call > 0)
            {
                LogicalCalls.Moved(more, ref call, id);
            }
        }

        /// <summary>
        /// A logical call that the runtime suspends is about to wait for something. Where that is not complete, the call
        /// leaves this thread.
        /// </summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public static void Await(bool completed, ref long call, int id)
        {
            if (Switch.On && !completed && call > 0)
            {
                LogicalCalls.Suspend(ref call, id);
            }
        }

        /// <summary>A logical call goes on behind what it waited for, on this thread if it was suspended.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public static void Awaited(ref long call, int id)
        {
            if (Switch.On && LogicalCalls.IsSuspended(call))
            {
                LogicalCalls.Resume(ref call, id);
            }
        }

        /// <summary>
        /// A logical call has given a task, and ends when that is complete. The task stays what it is: nobody has observed its
        /// exception by this.
        /// </summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public static void Follow(Task task, ref long call, int id)
        {
            if (Switch.On)
            {
                LogicalCalls.Follow(task, ref call, id);
            }
        }

        /// <summary>A logical call ends.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public static void End(ref long call, int id)
        {
            if (Switch.On && call > 0)
            {
                LogicalCalls.End(ref call, id);
            }
        }

        /// <summary>A logical call ends with the exception <paramref name="e"/>.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public static void Fail(Exception e, ref long call, int id)
        {
            if (Switch.On && call > 0)
            {
                LogicalCalls.Fail(e, ref call, id);
            }
        }
    }

    /// <summary>Whether this process is traced: a class of its own, so that nothing else waits for its initialiser.</summary>
    internal static class Switch
    {
        /// <summary>Decided once, so that enters and exits balance.</summary>
        internal static readonly bool On = Settings.On();
    }
}
