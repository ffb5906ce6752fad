//! .NET assemblies: scan for join points, weave hooks in. ECMA-335 is Common Language Infrastructure,
//! 6th edition; III.3.2 is partition III, section 3.2.

pub mod body;
mod constructor;
pub mod insn;
pub mod lower;
pub mod rewrite;
#[cfg(test)]
mod testing;
