//! Results that threads make in any order, taken in theirs while others are still made.

use crate::error::Result;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// Takes numbered results one by one, from 0 on. No thread waits for another: the one that brings the next result also
/// takes those that wait for it.
pub(crate) struct InOrder<T, S, F> {
    arrived: Mutex<Arrived<T>>,
    /// The results of those that were taken, up to the first error.
    taken: Mutex<Result<S>>,
    take: F,
}

struct Arrived<T> {
    next: usize,
    waiting: BTreeMap<usize, Result<T>>,
}

const POISONED: &str = "a thread that panics ends the job";

impl<T, S, F: Fn(&mut S, T) -> Result<()>> InOrder<T, S, F> {
    /// `take` adds the next result to what there is, `start` at first.
    pub(crate) fn new(start: S, take: F) -> Self {
        let arrived = Arrived {
            next: 0,
            waiting: BTreeMap::new(),
        };
        InOrder {
            arrived: Mutex::new(arrived),
            taken: Mutex::new(Ok(start)),
            take,
        }
    }

    /// Brings a result.
    pub(crate) fn put(&self, number: usize, result: Result<T>) {
        let arrived = || self.arrived.lock().expect(POISONED);
        arrived().waiting.insert(number, result);
        // A thread that takes looks again afterwards: something may have come after its last look.
        while arrived().has_next() {
            let Ok(mut taken) = self.taken.try_lock() else {
                return;
            };
            while let Some(result) = { arrived().pop() } {
                let outcome = (taken.as_mut().ok()).map(|all| (self.take)(all, result?));
                if let Some(Err(e)) = outcome {
                    *taken = Err(e);
                }
            }
        }
    }

    /// All of them taken, or the error of the first that has one.
    pub(crate) fn finish(self) -> Result<S> {
        debug_assert!(self.arrived.lock().expect(POISONED).waiting.is_empty());
        self.taken.into_inner().expect(POISONED)
    }
}

impl<T> Arrived<T> {
    fn has_next(&self) -> bool {
        self.waiting.contains_key(&self.next)
    }

    fn pop(&mut self) -> Option<Result<T>> {
        let result = self.waiting.remove(&self.next)?;
        self.next += 1;
        Some(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Error, Kind};
    use rayon::prelude::*;

    fn collect(
        numbers: impl ParallelIterator<Item = usize>,
        failing: &[usize],
    ) -> Result<Vec<usize>> {
        let all = InOrder::new(Vec::new(), |all: &mut Vec<usize>, number| {
            all.push(number);
            Ok(())
        });
        numbers.for_each(|number| {
            let result = match failing.contains(&number) {
                true => Err(Error::new(Kind::Malformed, number.to_string())),
                false => Ok(number),
            };
            all.put(number, result);
        });
        all.finish()
    }

    #[test]
    fn results_are_taken_in_order() {
        let threads = rayon::ThreadPoolBuilder::new().num_threads(8).build();
        threads.expect("threads").install(|| {
            for count in [0, 1, 7, 10_000] {
                let sorted: Vec<usize> = (0..count).collect();
                assert_eq!(collect((0..count).into_par_iter(), &[]).unwrap(), sorted);
                let backwards = (0..count).into_par_iter().rev();
                assert_eq!(collect(backwards, &[]).unwrap(), sorted);
            }
        });
    }

    #[test]
    fn the_first_error_counts() {
        let e = collect((0..100).into_par_iter().rev(), &[70, 30, 99]).unwrap_err();
        assert_eq!(e.to_string(), "30");
    }
}
