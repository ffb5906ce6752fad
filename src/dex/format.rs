//! The dex format: what a file holds, read where it lies.

pub(crate) mod class;
pub(crate) mod code_item;
pub(crate) mod debug_lines;
pub(crate) mod descriptors;
pub(crate) mod file;
pub(crate) mod insn;
pub(crate) mod lookup;
pub(crate) mod opcodes;
pub(crate) mod order;
pub(crate) mod remap;
