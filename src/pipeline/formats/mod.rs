//! One artifact of each format: parse, scan, match, weave.

pub(crate) mod assembly;
pub(crate) mod class;
pub(crate) mod dex;
mod plan;
