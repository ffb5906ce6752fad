//! Files that hold members: jars and other zip files, folders. Knows bytes, never formats.

pub mod jar;
pub mod zip;
