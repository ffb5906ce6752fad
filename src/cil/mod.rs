//! .NET assemblies: scan for join points, weave hooks in. ECMA-335 is Common Language Infrastructure,
//! 6th edition; III.3.2 is partition III, section 3.2.

pub mod body;
mod image;
pub mod insn;
pub mod metadata;
pub mod pe;
mod readytorun;
mod scan;

pub use image::{Image, RUNTIME, is_assembly};
pub use scan::scan;
