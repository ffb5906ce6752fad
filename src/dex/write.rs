//! The new file: its tables and sections around the new bodies.

pub(crate) mod data;
pub(crate) mod file;
pub(crate) mod values;
