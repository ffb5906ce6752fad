//! What is known of a method while it is verified.

use super::types::Type;
use crate::dex::format::code_item::Try;
use rustc_hash::FxHashMap;

/// What begins at a code unit.
pub(super) mod mark {
    /// An instruction.
    pub const INSN: u8 = 1;
    pub const PAYLOAD: u8 = 2;
    /// A `move-result`.
    pub const RESULT: u8 = 4;
    /// A `move-exception`.
    pub const EXCEPTION: u8 = 8;
    /// Control comes here other than from above.
    pub const TARGET: u8 = 16;
}

/// What is known of one method; the next one uses its memory again.
#[derive(Default)]
pub(super) struct Frame {
    /// The [`mark`]s of each code unit.
    pub marks: Vec<u8>,
    pub tries: Vec<Try>,
    /// Offsets of lists of handlers.
    pub lists: Vec<u16>,
    /// What each handler catches.
    pub caught: FxHashMap<u32, Type>,
    /// Where the line of a target begins in `lines`, by pc.
    pub at: FxHashMap<u32, u32>,
    /// The lines in front of the targets.
    pub lines: Vec<Type>,
    /// The targets to follow still.
    pub work: Vec<u32>,
}

/// What is known in front of an instruction: what the registers hold, and what a `move-result` would get.
#[derive(Default)]
pub(super) struct Line {
    /// The registers; then, in [`EXTRA`] more, the monitors held, the phases of the hooks, and whether `this` is
    /// initialised.
    pub registers: Vec<Type>,
    pub result: Option<Type>,
    /// A register was written since this was last cleared.
    pub dirty: bool,
}

/// What a line holds behind the registers.
pub(super) const EXTRA: usize = 3;
/// The monitors held, counted from the line's end.
pub(super) const HELD: usize = 3;
/// The [`phase`](super::hooks::phase)s of the hooks.
pub(super) const PHASES: usize = 2;
/// Whether `this` is initialised.
pub(super) const INITIALISED: usize = 1;
