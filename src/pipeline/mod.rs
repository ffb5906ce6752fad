//! The job: from an input path to an output path. The only owner of threads.
//!
//! ```text
//! Job -> inputs (file | archive | folder): find what can be woven, in batches
//!     -> formats (class | assembly | dex): plan and weave a batch on all threads
//!     -> ledger: ids and symbols, in the job's order
//!     -> library: the hook library and the map -> publish: temporary files, then renames
//! ```
//!
//! Work is done in batches bounded by bytes: while one batch is woven on all threads, the one before
//! it is written in order. So memory stays bounded, and whatever depends on order (which of two
//! types keeps ids that both hash to) comes out the same with any number of threads.

mod cache;
mod context;
mod format;
mod formats;
mod hierarchy;
mod inputs;
mod job;
mod ledger;
mod library;
mod limits;
mod maps;
mod native;
mod outcome;
mod own;
mod publish;
mod reaches;
mod run;
mod verify;
mod worker;

#[cfg(target_os = "linux")]
pub use crate::container::input::before_truncation_ends;
pub use crate::container::place::Files;
pub use crate::container::stage::{Access, Output};
pub use crate::container::zip::Effort;
pub use crate::signing::identity::Identity;
pub use crate::signing::strong_name::StrongNameKey;
pub use cache::{Cache, Trust};
pub use job::Job;
pub use library::embedded::{JAR_NAME as RUNTIME_JAR_NAME, write_runtime};
pub use maps::maps_of;
pub use outcome::{ClassPlan, Left, Outcome, Warning, WarningKind};
pub use run::{files_of, run};
pub use verify::{Verified, verify};

/// Runs a task on some thread, some time.
pub fn on_any_thread(task: Box<dyn FnOnce() + Send>) {
    rayon::spawn(task);
}
