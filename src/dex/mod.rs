//! Dalvik executables: scan for join points, weave hooks in.
//!
//! [`Dex::parse`] reads the frame of the file; [`scan`] shows its methods to a planner; [`weave`] writes
//! the file with the planned methods' hooks.

mod bodies;
mod branches;
mod checksums;
mod class;
pub mod code_item;
mod constructor;
mod data;
pub mod debug_info;
mod descriptors;
mod file;
mod flow;
mod guards;
mod ids;
pub mod insn;
mod layout;
pub mod lower;
mod monitors;
mod near;
mod numbering;
pub mod opcodes;
mod order;
pub mod own_fields;
mod part;
mod pc_lines;
mod registers;
pub mod remap;
mod renumber;
mod scan;
mod sections;
#[cfg(test)]
mod testing;
mod values;
pub mod verify;
mod write;

pub use file::{Dex, MAGIC};
pub use numbering::first_numbers;
pub use renumber::Renumbering;
pub use scan::scan;
pub use write::{HOOKS, Run, Scratch, Woven, one_by_one, weave, weave_on};
