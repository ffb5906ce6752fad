//! Dalvik executables: scan for join points, weave hooks in.
//!
//! [`Dex::parse`] reads the frame of the file; [`scan`] shows its methods to a planner; [`weave`] writes
//! the file with the planned methods' hooks; [`verify`] checks one.
//!
//! Each module uses those above it (`tests/architecture.rs`):
//!
//! - `format`: the file's tables, classes, code items and instructions; old to new indices
//! - `analysis`: facts of a body: flow, monitors, constructors, own fields, arrays
//! - `sites`: the calls that methods make
//! - `points`: what else methods do that hooks can be at: fields, new objects, exceptions, lines, locks
//! - `scan`: methods as join points
//! - `calls`: what methods call
//! - `serial`: the number that Java's serialization computes of a class
//! - `ids`: new rows of the tables, and what follows from them
//! - `lower`: advice to instructions, one code item at a time
//! - `hooks`: the methods that woven code calls
//! - `bodies`: all code items of a file with their debug info, chunk by chunk
//! - `place`: what goes in front of points and behind them
//! - `write`: the new file around them
//! - `weave`: from a plan to a file
//! - `around`: hooks in the places of bodies: splits methods, then weaves
//! - `redirect`: other calls in the places of calls
//! - `verify`: ART's rules, and that hooks come in pairs

mod analysis;
mod around;
mod bodies;
mod calls;
mod format;
mod hooks;
mod ids;
mod lower;
mod place;
mod points;
mod redirect;
mod scan;
mod serial;
mod sites;
#[cfg(test)]
mod testing;
mod verify;
mod weave;
mod write;

pub use around::weave;
pub use calls::library_types;
pub use format::file::Dex;
pub use ids::numbers::first_numbers;
pub use ids::profile_remap::ProfileRemap;
pub use redirect::redirect;
pub use scan::scan;
pub use verify::{checksums, verify};
pub use weave::{Run, Scratch, Woven, one_by_one};
