//! Method bodies in CIL (ECMA-335 II.25.4, III): headers, clauses, instructions.

pub mod body;
pub mod insn;
