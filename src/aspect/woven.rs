//! What came of a plan, type by type: for the symbols map and for whoever asks.

use crate::aspect::plan::Skipped;
use std::borrow::Cow;

/// What came of the plan for one type.
#[derive(Debug, Default)]
pub struct WovenType<'a> {
    /// The type's number in the scan's order, as [`Planned::ty`](crate::aspect::plan::Planned::ty).
    pub ty: u32,
    /// Full name in the format's own spelling.
    pub name: Cow<'a, str>,
    /// Source file name, or empty.
    pub file: Cow<'a, str>,
    /// The methods that got hooks.
    pub methods: Vec<WovenMethod<'a>>,
    /// Planned methods that were left as they were.
    pub left: Vec<Skipped>,
}

/// A method that got hooks.
#[derive(Debug)]
pub struct WovenMethod<'a> {
    /// The id that its hooks are called with.
    pub id: u32,
    /// Its name.
    pub name: Cow<'a, str>,
    /// Its descriptor.
    pub descriptor: Cow<'a, str>,
    /// First source line, or 0.
    pub line: u32,
}
