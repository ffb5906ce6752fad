//! Paths of inputs and outputs.

use std::path::{Component, Path, PathBuf};

/// The folder that a path is in.
pub(crate) fn parent(path: &Path) -> PathBuf {
    match path.components().collect::<PathBuf>().parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Whether two paths are one file or folder.
pub(crate) fn same_file(a: &Path, b: &Path) -> bool {
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}

/// Where a path leads, also if its last parts do not exist yet.
pub(crate) fn resolve(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    let plain = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    match (plain.parent(), plain.components().next_back()) {
        (Some(dir), Some(Component::ParentDir)) => {
            let mut dir = resolve(dir);
            dir.pop();
            dir
        }
        (Some(dir), Some(name)) => resolve(dir).join(name),
        _ => plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_somewhere_before_they_are_there() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().canonicalize().unwrap();
        for (path, to) in [("a", "a"), ("a/b/c", "a/b/c"), ("a/./b/../c/", "a/c")] {
            assert_eq!(resolve(&dir.path().join(path)), real.join(to), "{path}");
        }
    }
}
