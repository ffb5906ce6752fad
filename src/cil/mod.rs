//! .NET assemblies: scan for join points, weave hooks in. ECMA-335 is Common Language Infrastructure,
//! 6th edition; III.3.2 is partition III, section 3.2.
// Lists of ranges are sets of bytes here, and one range is a set, too.
#![allow(clippy::single_range_in_vec_init)]

pub mod body;
mod calls;
mod constructor;
mod foundation;
mod hooks;
mod identity;
mod image;
pub mod insn;
mod join;
pub mod lower;
#[cfg(test)]
mod machine_tests;
mod machines;
pub mod metadata;
mod occupied;
mod output;
pub mod pdb;
pub mod pe;
mod pieces;
mod readytorun;
mod renumber;
pub mod rewrite;
mod scan;
mod sections;
mod signatures;
mod space;
mod state_machine;
mod strongname;
mod symbol_names;
#[cfg(test)]
mod testing;
mod types;
pub mod verify;
mod warning;
mod weave;
mod write;

pub use identity::WindowDigest;
pub use image::{Image, RUNTIME, is_assembly, is_native};
pub use join::{Joiner, Step, Woven};
pub use machines::Machines;
pub use output::{Change, Output};
pub use scan::{Survey, scan};
pub use strongname::{StrongNameKey, public_key_token};
pub use symbol_names::{SymbolNames, SymbolNumbers};
pub use warning::Warning;
pub use weave::{Part, Scratch, Weaver, weave};
pub use write::{SYMBOLS_RESOURCE, Written};
