//! Traces: what the hook libraries record (`docs/trace-format.md`), read back and summed up.
//!
//! ```text
//! file (mapped) -> Trace (chunks indexed into threads and segments, symbols)
//!       -> replay (records of a thread paired into calls)
//!       -> summary per method, call tree, exceptions, threads = Analysis
//! ```
//!
//! `collect` takes chunks out of traces while they are written, and writes them on; `tail` reads them.
//!
//! Memory grows with methods, threads, segments and logical calls that are open at once, never with
//! records: these are only streamed through. A trace that is torn, damaged or hostile yields what is whole, and
//! [`Notes`] say what is not.

pub mod aggregates;
pub mod analysis;
pub mod call;
pub mod collect;
pub mod consumer;
mod contexts;
pub mod control;
pub mod counted;
pub mod diff;
pub mod estimate;
pub mod exceptions;
pub mod export;
pub mod file;
pub mod flame;
pub mod format;
pub mod idle;
pub mod live;
pub mod lock;
pub mod logical;
pub mod methods;
pub mod metrics;
pub mod notes;
pub mod page;
pub mod pattern;
pub mod query;
pub mod regular;
pub mod replay;
pub mod request;
pub mod requests;
pub mod roots;
pub mod summary;
pub mod tail;
pub mod tree;
pub mod tune;
pub mod units;
pub mod values;
pub mod window;

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

pub use analysis::{Analysis, Analyzer, Options};
pub use file::Trace;
pub use idle::Excludes;
pub use roots::Roots;
pub use window::{Moment, Window};
