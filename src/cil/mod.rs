//! .NET assemblies: scan for join points, weave hooks in. ECMA-335 is Common Language Infrastructure,
//! 6th edition; III.3.2 is partition III, section 3.2.

pub mod body;
mod calls;
mod constructor;
mod image;
pub mod insn;
pub mod lower;
pub mod metadata;
pub mod pe;
mod readytorun;
pub mod rewrite;
mod scan;
#[cfg(test)]
mod testing;
pub mod verify;

pub use image::{Image, RUNTIME, is_assembly};
pub use scan::scan;
