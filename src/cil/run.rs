//! Tasks on the threads of the caller: this backend owns none.

use crate::cil::weave::part::Scratch;
use crate::error::Result;
use std::sync::Mutex;

/// Runs a task for each number below a count, on any threads, each with memory of its own; returns when all are done.
pub type Run<'r> = &'r (dyn Fn(usize, &(dyn Fn(usize, &mut Scratch) + Sync)) + Sync);

/// Runs all tasks on the calling thread.
pub fn here(count: usize, task: &(dyn Fn(usize, &mut Scratch) + Sync)) {
    let mut scratch = Scratch::default();
    (0..count).for_each(|number| task(number, &mut scratch));
}

pub(crate) const POISONED: &str = "a thread that panics ends the job";

/// Runs tasks; returns their results in order, or the first error.
pub(crate) fn gather<T: Send>(
    run: Run<'_>,
    count: usize,
    task: impl Fn(usize, &mut Scratch) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let made: Vec<Mutex<Option<Result<T>>>> = (0..count).map(|_| Mutex::new(None)).collect();
    run(count, &|number, scratch| {
        let outcome = task(number, scratch);
        *made[number].lock().expect(POISONED) = Some(outcome);
    });
    let made = made.into_iter().map(|made| made.into_inner());
    made.map(|made| made.expect(POISONED).expect("every task runs"))
        .collect()
}

/// Runs two tasks at once.
pub(crate) fn both<A: Send, B: Send>(
    run: Run<'_>,
    a: impl FnOnce() -> Result<A> + Send,
    b: impl FnOnce() -> Result<B> + Send,
) -> Result<(A, B)> {
    let (a, b) = (Mutex::new(Some(a)), Mutex::new(Some(b)));
    let mut made = gather(run, 2, |number, _| {
        Ok(match number {
            0 => (a.lock().expect(POISONED).take().map(|a| a()), None),
            _ => (None, b.lock().expect(POISONED).take().map(|b| b())),
        })
    })?;
    let (b, a) = (made.pop().and_then(|m| m.1), made.pop().and_then(|m| m.0));
    Ok((a.expect("it runs once")?, b.expect("it runs once")?))
}
