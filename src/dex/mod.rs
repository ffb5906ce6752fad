//! Dalvik executables: scan for join points, weave hooks in.

pub mod code_item;
pub mod insn;
pub mod opcodes;
pub mod remap;
#[cfg(test)]
mod testing;
