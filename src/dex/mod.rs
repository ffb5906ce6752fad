//! Dalvik executables: scan for join points, weave hooks in.

pub mod insn;
pub mod opcodes;
pub mod remap;
