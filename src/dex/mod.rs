//! Dalvik executables: scan for join points, weave hooks in.

mod branches;
pub mod code_item;
mod constructor;
pub mod debug_info;
mod flow;
mod guards;
pub mod insn;
pub mod lower;
mod monitors;
pub mod opcodes;
mod registers;
pub mod remap;
#[cfg(test)]
mod testing;
