//! The hook library: how woven code reaches it.

pub(crate) mod embedded;
pub(crate) mod layout;

/// How an archive's classes reach the hook library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Library {
    /// The archive carries it.
    Embed,
    /// Its manifest's `Class-Path` names it by this URL.
    ClassPath(String),
    /// The archive that this one is nested in carries it.
    Outer,
    /// Nothing is done about it (`--no-runtime`).
    Absent,
}
