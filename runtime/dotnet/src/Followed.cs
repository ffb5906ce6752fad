using System;
using System.Diagnostics;
using System.Threading;
using System.Threading.Tasks;

namespace Weave.Runtime
{
    /// <summary>What ends when a task is complete.</summary>
    [DebuggerStepThrough]
    internal abstract class Following
    {
        protected readonly Task Task;

        protected Following(Task task)
        {
            Task = task;
        }

        internal void Start()
        {
            try
            {
                // The program's context does not go along: it has handlers of its own for when it comes and goes.
                bool flows = !ExecutionContext.IsFlowSuppressed();
                AsyncFlowControl flow = flows ? ExecutionContext.SuppressFlow() : default(AsyncFlowControl);
                try
                {
                    // As an awaiter it would send the program's own to other threads.
                    Task.ContinueWith(End, CancellationToken.None, TaskContinuationOptions.ExecuteSynchronously, TaskScheduler.Default);
                }
                finally
                {
                    if (flows)
                    {
                        flow.Undo();
                    }
                }
            }
            catch (Exception)
            {
                // It stays open.
                Recorder.Fails();
            }
        }

        protected abstract void End(Task _);
    }

    /// <summary>A logical call that ends when a task is complete.</summary>
    [DebuggerStepThrough]
    internal sealed class Followed : Following
    {
        private readonly Later results;
        private readonly long number;
        private readonly int id;

        internal Followed(Task task, Later results, long number, int id)
            : base(task)
        {
            this.results = results;
            this.number = number;
            this.id = id;
        }

        protected override void End(Task _)
        {
            long now = Clock.Now();
            Lane lane = Recorder.Lane();
            if (Task.Status != TaskStatus.RanToCompletion)
            {
                lane.Logical(Lane.What.CompleteFailed, id, now, number, Failure(Task));
            }
            else if (results == null)
            {
                lane.Logical(Lane.What.Complete, id, now, number, null);
            }
            else if (!lane.Busy)
            {
                // Values are of a record, so the call ends in a piece.
                lane.Resume(0, id, now, number);
                Later.RecordAll(results, id);
                lane.Logical(Lane.What.End, id, now, number, null);
            }
        }

        /// <summary>
        /// What a task failed with, as far as can be told: who asks it for its exception has observed that, and nobody is told any
        /// more that an exception was observed by none.
        /// </summary>
        internal static Exception Failure(Task task)
        {
            return task.IsCanceled ? new TaskCanceledException() : (Exception)new Unasked();
        }

        /// <summary>The exception of a task that is not asked for it.</summary>
        internal sealed class Unasked : Exception
        {
        }
    }

    /// <summary>Results of tasks that are recorded when these are complete: the one, and those before it.</summary>
    [DebuggerStepThrough]
    internal abstract class Later
    {
        private Later before;

        internal void Wait()
        {
            Lane lane = Recorder.Lane();
            if (!lane.Busy)
            {
                before = lane.Results;
                lane.Results = this;
            }
        }

        internal static void RecordAll(Later last, int id)
        {
            if (last != null)
            {
                RecordAll(last.before, id);
                last.Record(id);
            }
        }

        protected abstract void Record(int id);
    }

    /// <summary>The result of a task of this type.</summary>
    [DebuggerStepThrough]
    internal sealed class Later<T> : Later
    {
        private readonly Task<T> task;
        private readonly int kind;
        private readonly int place;
        private readonly int limit;
        private readonly string mask;

        internal Later(Task<T> task, int kind, int place, int limit, string mask)
        {
            this.task = task;
            this.kind = kind;
            this.place = place;
            this.limit = limit;
            this.mask = mask;
        }

        protected override void Record(int id)
        {
            if (task != null)
            {
                Recorder.Value(task.Result, kind, place, limit, mask, id);
            }
        }
    }
}
