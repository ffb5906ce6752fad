//! Files that hold members: jars and other zip files, folders. Knows bytes, never formats.
//!
//! - [`zip`] reads an archive through its directory and writes one like it by splicing;
//! - [`jar`] knows what makes a zip file a jar: the manifest and its signatures;
//! - [`apk`] knows what makes one an apk: alignment, signatures old and new;
//! - [`deps_json`] lists what a published .NET application consists of;
//! - [`folder`] lists a folder and keeps names inside the output folder;
//! - [`input`] maps a file into memory;
//! - [`place`] says where an output goes, and which paths are one file;
//! - [`stage`] writes a file so that the target is the old one or the new one.

pub mod apk;
pub mod deps_json;
pub mod folder;
pub mod input;
pub mod jar;
pub mod place;
pub mod stage;
pub mod zip;
