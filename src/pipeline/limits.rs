//! Limits that no real input reaches. What lies beyond is not unpacked: it would only cost memory.

/// Largest class.
pub(crate) const MAX_CLASS: u64 = 64 << 20;

/// Largest member that is no class: a nested archive, a dex file.
pub(crate) const MAX_MEMBER: u64 = 1 << 30;

/// How deep archives may nest. Real ones do three levels (ear, war, jar).
pub(crate) const MAX_DEPTH: usize = 8;

/// How many bytes of nested archives a file of this size may unpack to, all levels together. Real ones come to a few times
/// the file; each level of a jar of jars of jars can be a thousand times the one around it.
pub(crate) fn room_for_nested(file: usize) -> u64 {
    (file as u64).saturating_mul(32).saturating_add(64 << 20)
}
