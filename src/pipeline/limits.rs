//! Limits that no real input reaches. What lies beyond is not unpacked: it would only cost memory.

/// Largest class.
pub(crate) const MAX_CLASS: u64 = 64 << 20;

/// Largest member that is no class: a nested archive, a dex file.
pub(crate) const MAX_MEMBER: u64 = 1 << 30;

/// How deep archives may nest. Real ones do three levels (ear, war, jar).
pub(crate) const MAX_DEPTH: usize = 8;
