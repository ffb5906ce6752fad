//! Paths of inputs and outputs.

use std::path::{Path, PathBuf};

/// The folder that a path is in.
pub(crate) fn parent(path: &Path) -> PathBuf {
    match path.components().collect::<PathBuf>().parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir.to_owned(),
        _ => PathBuf::from("."),
    }
}
