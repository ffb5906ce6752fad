//! The job: from an input path to an output path. The only owner of threads.
//!
//! ```text
//! Job -> discover (what is the input?) -> archive | folder | one class
//!     -> batches of classes on all threads (process) -> in order: ids, symbols, splice (ledger)
//!     -> the hook library and the map (layout, runtime_library) -> commit (temporary file, rename)
//! ```
//!
//! An assembly is scanned and woven in parts, whose results are joined in order (`assembly`, `records`).
//!
//! Work is done in batches bounded by bytes: while one batch is woven on all threads, the one before
//! it is written in order. So memory stays bounded, and whatever depends on order (which of two
//! types keeps ids that both hash to) comes out the same with any number of threads.

mod archive;
mod assembly;
mod commit;
mod dex;
mod discover;
mod folder;
mod hierarchy;
mod ids;
mod in_order;
mod jar_rules;
mod job;
mod layout;
mod ledger;
pub mod memory;
mod native;
mod outcome;
mod output;
mod process;
mod profile;
mod records;
mod run;
mod runtime_library;
mod splice;
mod unit;
mod verify;

pub use crate::cil::StrongNameKey;
pub use crate::container::apk::identity::Identity;
pub use discover::Format;
pub use ids::IdBase;
pub use job::{Job, Progress};
pub use outcome::{ClassPlan, Left, Outcome, Warning, WarningKind};
pub use run::run;
pub use runtime_library::{
    DEX as RUNTIME_DEX, JAR as RUNTIME_JAR, JAR_NAME as RUNTIME_JAR_NAME, write_runtime,
};
pub use verify::{Verified, verify};
