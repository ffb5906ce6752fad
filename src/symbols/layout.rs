//! The layout of a map: versions, tags, bounds.

/// First bytes of a symbols map.
pub const MAGIC: [u8; 4] = *b"WSYM";
/// Version of the layout.
pub const VERSION: u16 = 1;
/// Version of a map that names values: readers of version 1 do not know [`TAG_VALUES`].
pub(super) const VERSION_WITH_VALUES: u16 = 2;
/// Version of a map that says where traces begin: earlier readers do not know [`TAG_ROOT`].
pub(super) const VERSION_WITH_ROOTS: u16 = 3;
/// Version of a map that says what can be switched: earlier readers do not know [`TAG_ASPECTS`].
pub(super) const VERSION_WITH_SWITCHES: u16 = 4;
/// Version of a map that says what is a span: earlier readers do not know [`TAG_SPAN`].
pub(super) const VERSION_WITH_SPANS: u16 = 5;
/// Version of a map that says what a program may pay: earlier readers do not know [`OVERHEAD`].
pub(super) const VERSION_WITH_OVERHEAD: u16 = 6;
/// Magic, version, a reserved word, counts of methods and of blocks.
pub(super) const HEADER: usize = 16;

/// Length, CRC-32 and packed length in front of each block.
pub(super) const BLOCK_HEADER: usize = 12;

/// Most bytes that a block may inflate to, whatever its header says: a block ends with the method that
/// fills it, and names are at most 65,535 bytes long.
pub(super) const MAX_BLOCK: usize = 4 << 20;

pub(super) const TAG_ARTIFACT: u8 = 1;
pub(super) const TAG_TYPE: u8 = 2;
pub(super) const TAG_METHOD: u8 = 3;
pub(super) const TAG_NAMES: u8 = 4;
pub(super) const TAG_NUMBERED_METHODS: u8 = 5;
pub(super) const TAG_MORE_NAMES: u8 = 6;
pub(super) const TAG_NUMBERED_NAME: u8 = 7;
pub(super) const TAG_NUMBERED_DESCRIPTOR: u8 = 8;
pub(super) const TAG_VALUES: u8 = 9;
pub(super) const TAG_ROOT: u8 = 10;
pub(super) const TAG_ASPECTS: u8 = 11;
pub(super) const TAG_SWITCHED: u8 = 12;
pub(super) const TAG_SPAN: u8 = 13;
/// Beside an aspect's level: the program itself decides about it, and a time follows.
pub(super) const AUTO: u32 = 1 << 4;
/// Beside that: the part of the program's CPU that this may take follows, in thousandths.
pub(super) const OVERHEAD: u32 = 1 << 7;
pub(super) const AUTO_WITHIN: u32 = AUTO | OVERHEAD;
/// Its calls are sampled, and a number follows: one of so many, or so many a second.
pub(super) const SAMPLED: u32 = 1 << 5;
pub(super) const SECOND: u32 = 1 << 6;
pub(super) const SAMPLED_SECOND: u32 = SAMPLED | SECOND;

/// Most values that a method records.
pub(super) const MAX_VALUES: usize = 1 << 16;

/// Most bytes of names at one time.
pub(super) const MAX_NAMES: usize = 64 << 20;

/// What a numbered text takes beside its bytes, about.
pub(super) const NUMBERED: usize = 32;

/// Most methods of one entry: a block ends behind the one that fills it.
pub(super) const MAX_ROW: usize = 1 << 14;

/// Longest descriptor that refers to names, and most bytes of all at one time; those beyond are `?`.
pub(super) const MAX_DESCRIPTOR: usize = 1 << 17;
pub(super) const MAX_DESCRIPTORS: usize = 64 << 20;

/// The last numbers in a block, or 0.
#[derive(Default)]
pub(super) struct Last {
    /// A method's id.
    pub id: u32,
    pub name: u32,
    pub descriptor: u32,
}

/// Whether bytes begin as a map does; what follows is looked at by [`super::Symbols::add`].
pub fn is_map(bytes: &[u8]) -> bool {
    bytes.len() >= HEADER && bytes.starts_with(&MAGIC)
}
