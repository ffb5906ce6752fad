//! Inputs: a file, an archive, a folder.

pub(crate) mod archive;
mod assembly_file;
pub(crate) mod file;
pub(crate) mod folder;
