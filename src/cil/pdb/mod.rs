//! Portable PDBs (Portable PDB v1.0): the debugging information of woven methods, moved with their code.
//!
//! A debugger and a stack trace see the same lines as before: what goes in front of an instruction
//! belongs to its line, and handlers and the common way out to none.

mod debug_directory;
mod edits;
mod moves;
mod points;
mod reader;
mod source;
mod writer;

pub use edits::Edits;
#[cfg(test)]
pub use reader::Format;
pub use reader::{FirstLine, Pdb};
pub use source::Source;
pub use writer::{DebugEdit, seal, unlink};
