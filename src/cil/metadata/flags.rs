//! Flags of types, methods, their parameters and type parameters.

use crate::cil::metadata::schema::column;
use crate::cil::metadata::tables::Row;

/// Flags of methods (II.23.1.10).
pub mod method_flag {
    pub const ACCESS: u32 = 7;
    pub const STATIC: u32 = 0x10;
    pub const FINAL: u32 = 0x20;
    pub const VIRTUAL: u32 = 0x40;
    pub const ABSTRACT: u32 = 0x400;
    pub const PINVOKE_IMPL: u32 = 0x2000;
}

/// Flags of types (II.23.1.15).
pub mod type_flag {
    pub const INTERFACE: u32 = 0x20;
    pub const SEALED: u32 = 0x100;
}

/// Flags of parameters (II.23.1.13).
pub mod param_flag {
    pub const IN: u32 = 1;
    pub const OUT: u32 = 2;
}

/// Flags of type parameters (II.23.1.7).
pub mod type_param_flag {
    /// It is covariant or contravariant.
    pub const VARIANCE: u32 = 3;
    /// Constraints: a class, a struct, a constructor without parameters.
    pub const CONSTRAINTS: u32 = 0x1c;
    /// A ref struct may stand for it (.NET 9).
    pub const ALLOWS_REF_STRUCT: u32 = 0x20;
}

/// How methods are implemented (II.23.1.11).
pub mod impl_flag {
    pub const CODE_TYPE: u32 = 3;
    pub const IL: u32 = 0;
    pub const NATIVE: u32 = 1;
    pub const NO_INLINING: u32 = 0x8;
    pub const AGGRESSIVE_INLINING: u32 = 0x100;
    /// What the JIT does with the code: it is not inlined, not optimised, optimised at once, or inlined.
    pub const OF_CODE: u32 = 0x8 | 0x40 | 0x100 | 0x200;
    /// Only one thread at a time runs it.
    pub const SYNCHRONIZED: u32 = 0x20;
    /// The runtime suspends the method: there is no state machine, and the stack holds the result
    /// itself (.NET 11).
    pub const ASYNC: u32 = 0x2000;
}

/// Whether a method (a row of `MethodDef`) has a body in IL.
pub(crate) fn has_il(row: &Row<'_>) -> bool {
    use column::method_def::{FLAGS, IMPL_FLAGS, RVA};
    row.get(RVA) != 0
        && row.get(IMPL_FLAGS) & impl_flag::CODE_TYPE == impl_flag::IL
        && row.get(FLAGS) & (method_flag::ABSTRACT | method_flag::PINVOKE_IMPL) == 0
}
