//! Putting results in their places.

pub(crate) mod paths;
pub(crate) mod staged_folder;
pub(crate) mod target;
