using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

namespace App {
    /// <summary>Calls that give tasks, which are complete later or already. All but the last is in one thread, so the trace is in order.</summary>
    static class Followed {
        /// <summary>The state of a call as the program sees it.</summary>
        static void Mark(string text) {
            Console.WriteLine(text);
        }

        static void Later() {
            var store = new Store();
            var given = new TaskCompletionSource<string>();
            store.Next = given.Task;
            Task<string> task = store.Get("later");
            Mark("given, complete: " + task.IsCompleted);
            given.SetResult("kept");
            Mark("the same: " + ReferenceEquals(task, given.Task) + ", " + task.Result);
        }

        static void Fails() {
            var store = new Store();
            var given = new TaskCompletionSource<string>();
            store.Next = given.Task;
            Task<string> task = store.Get("fails");
            Mark("given, complete: " + task.IsCompleted);
            given.SetException(new InvalidOperationException("no store"));
            Mark(task.Status + ", " + task.Exception.InnerException.Message);
            store.Get("failed already");
        }

        static void Cancelled() {
            var store = new Store();
            var given = new TaskCompletionSource<string>();
            store.Next = given.Task;
            Task<string> task = store.Get("cancelled");
            given.SetCanceled();
            Mark(task.Status.ToString());
            store.Get("cancelled already");
        }

        static void Throws() {
            try {
                new Store().Get(null);
            } catch (ArgumentNullException) {
                Mark("thrown");
            }
        }

        static void Others() {
            var store = new Store();
            var done = new TaskCompletionSource<object>();
            store.Done = done.Task;
            store.Put("k", 7);
            Mark("put");
            done.SetResult(null);
            int left;
            var number = new TaskCompletionSource<int>();
            Task<int> counted = Store.Count(number.Task, out left);
            Mark("left " + left);
            number.SetResult(12);
            Mark("counted " + counted.Result);
            Store.All(Task.FromResult(new int[] { 1, 2 }));
            Store.List(Task.FromResult(new List<string> { "a", "b" }));
            Store.Map(Task.FromResult(new Dictionary<string, List<KeyValuePair<int, string>>>()));
            Store.Said(Task.FromResult(new Version(1, 2)));
        }

        static async Task<string> Twice(Store store) {
            return await store.Get("first") + await store.Get("second");
        }

        /// <summary>Where the caller is a state machine, which the completion resumes.</summary>
        static void Awaits() {
            var store = new Store();
            var given = new TaskCompletionSource<string>();
            store.Next = given.Task;
            Task<string> task = Twice(store);
            Mark("awaits, complete: " + task.IsCompleted);
            given.SetResult("x");
            Mark("awaited " + task.Result);
        }

        static void Hooked() {
            var store = new Store();
            var given = new TaskCompletionSource<int>();
            Task<int> task = store.Hooked(given.Task);
            Mark("given back");
            given.SetResult(1);
            Task<int> other = store.Replaced(Task.FromResult(1));
            Mark("other " + other.Result);
        }

        /// <summary>Recorded until the task is given back, as the rule says.</summary>
        static void Given() {
            var given = new TaskCompletionSource<int>();
            Store.Given(given.Task);
            Mark("given back");
            given.SetResult(1);
        }

        /// <summary>The program's context does not go along: the program would see it come and go.</summary>
        static void Context() {
            int changes = 0;
            var local = new AsyncLocal<int>(_ => changes++);
            local.Value = 1;
            var given = new TaskCompletionSource<int>();
            Store.Given(given.Task);
            var store = new Store();
            store.Done = given.Task;
            store.Put("context", 1);
            AsyncFlowControl flow = ExecutionContext.SuppressFlow();
            var completes = new Thread(() => given.SetResult(1));
            completes.Start();
            flow.Undo();
            completes.Join();
            Mark("changes " + changes + ", flows " + !ExecutionContext.IsFlowSuppressed());
        }

        static void Main() {
            Later();
            Fails();
            Cancelled();
            Throws();
            Others();
            Awaits();
            Hooked();
            Given();
            Context();
        }
    }

    public class Store {
        public Task<string> Next;
        public Task Done;

        public virtual Task<string> Get(string key) {
            if (key == null) {
                throw new ArgumentNullException();
            }
            return Next;
        }

        public virtual Task Put(string key, int value) {
            return Done;
        }

        public static Task<int> Count(Task<int> task, out int left) {
            left = 3;
            return task;
        }

        public static Task<int[]> All(Task<int[]> task) {
            return task;
        }

        public static Task<List<string>> List(Task<List<string>> task) {
            return task;
        }

        public static Task<Dictionary<string, List<KeyValuePair<int, string>>>> Map(Task<Dictionary<string, List<KeyValuePair<int, string>>>> task) {
            return task;
        }

        public static Task<Version> Said(Task<Version> task) {
            return task;
        }

        public virtual Task<int> Hooked(Task<int> task) {
            return task;
        }

        public virtual Task<int> Replaced(Task<int> task) {
            return task;
        }

        public static Task<int> Given(Task<int> task) {
            return task;
        }
    }
}
