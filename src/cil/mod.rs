//! .NET assemblies: scan for join points, weave hooks in. ECMA-335 is Common Language Infrastructure,
//! 6th edition; III.3.2 is partition III, section 3.2.
// Lists of ranges are sets of bytes here, and one range is a set, too.
#![allow(clippy::single_range_in_vec_init)]

mod assembly;
pub mod cli_header;
pub mod il;
pub mod image;
pub mod machines;
pub mod metadata;
pub mod native;
pub mod pdb;
pub mod pe;
pub mod refusal;
pub mod rewrite;
mod run;
pub mod scan;
pub mod symbols;
#[cfg(test)]
mod testing;
pub mod verify;
pub mod warning;
pub mod weave;
pub mod write;

pub use assembly::{Recorder, Woven, weave, weave_on};
pub use image::{Image, is_assembly, is_native};
pub use scan::calls::library_types;
pub use scan::{Survey, scan};
pub use symbols::SymbolNames;
pub use warning::Warning;
pub use weave::methods::Methods;
pub use weave::part::Assembly;
pub use weave::part::Scratch;
pub use write::image::Written;
pub use write::output::Output;
