//! Folders as containers: which files they hold, and where names may lead in an output folder.

use crate::error::{Error, Kind, Result};
use std::ffi::OsStr;
#[cfg(unix)]
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// What a folder holds.
#[derive(Debug, Default)]
pub struct Listing {
    /// The files, sorted by name.
    pub files: Vec<Entry>,
    /// What was left out, with the reason: links to folders, broken links, devices.
    pub skipped: Vec<(PathBuf, &'static str)>,
    /// The files that are links to files outside of the folder, sorted.
    pub led_out: Vec<PathBuf>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Entry {
    /// The path from the folder, with `/` between names whatever the system; [`join`] makes a path of it again. Bytes that are
    /// no Unicode stand there as U+FFFD and two hexadecimal digits each.
    pub name: String,
    /// Where the file is.
    pub path: PathBuf,
}

/// Lists the files of a folder and of the folders in it, in an order that depends on names alone.
///
/// A link to a file counts as the file it points to: class paths are often made of such links. A
/// link to a folder is skipped and reported, so that the walk never leaves the folder, sees no
/// file twice, and ends.
pub fn list(root: &Path) -> Result<Listing> {
    let mut listing = Listing::default();
    let real_root = root.canonicalize();
    for entry in WalkDir::new(root).min_depth(1) {
        let entry = entry.map_err(|e| {
            let path = e.path().unwrap_or(root).to_owned();
            let loops = || std::io::Error::other("a cycle of links");
            Error::io("list", &path, e.into_io_error().unwrap_or_else(loops))
        })?;
        let file_type = entry.file_type();
        if file_type.is_dir() {
            continue;
        }
        let path = entry.into_path();
        if file_type.is_symlink() {
            let why = match path.metadata() {
                Ok(target) if target.is_file() => None,
                Ok(target) if target.is_dir() => Some("a link to a folder"),
                Ok(_) => Some("a link to what is neither file nor folder"),
                Err(_) => Some("a broken link"),
            };
            if let Some(why) = why {
                listing.skipped.push((path, why));
                continue;
            }
            match (&real_root, path.canonicalize()) {
                (Ok(root), Ok(target)) if target.starts_with(root) => {}
                _ => listing.led_out.push(path.clone()),
            }
        } else if !file_type.is_file() {
            listing.skipped.push((path, "neither file nor folder"));
            continue;
        }
        match name_in(root, &path) {
            Some(name) => listing.files.push(Entry { name, path }),
            None => listing.skipped.push((path, "its name is not Unicode")),
        }
    }
    listing.files.sort_by(|a, b| a.name.cmp(&b.name));
    listing.skipped.sort();
    listing.led_out.sort();
    Ok(listing)
}

/// The path from `root`, with `/` between names. `None`: it cannot be said.
fn name_in(root: &Path, path: &Path) -> Option<String> {
    let relative = path
        .strip_prefix(root)
        .expect("a walk yields paths below its root");
    let mut name = String::new();
    for part in relative {
        if !name.is_empty() {
            name.push('/');
        }
        push_escaped(&mut name, part)?;
    }
    Some(name)
}

/// What stands before the digits of a byte.
#[cfg(unix)]
const ESCAPE: char = char::REPLACEMENT_CHARACTER;

/// Adds a file name in which bytes that are no Unicode, and U+FFFD itself, are escaped: no two names become one.
#[cfg(unix)]
fn push_escaped(name: &mut String, part: &OsStr) -> Option<()> {
    use std::fmt::Write;
    use std::os::unix::ffi::OsStrExt;
    let escape = |name: &mut String, bytes: &[u8]| {
        for byte in bytes {
            let _ = write!(name, "{ESCAPE}{byte:02X}");
        }
    };
    for chunk in part.as_bytes().utf8_chunks() {
        for (number, text) in chunk.valid().split(ESCAPE).enumerate() {
            if number > 0 {
                escape(name, ESCAPE.encode_utf8(&mut [0; 4]).as_bytes());
            }
            name.push_str(text);
        }
        escape(name, chunk.invalid());
    }
    Some(())
}

#[cfg(not(unix))]
fn push_escaped(name: &mut String, part: &OsStr) -> Option<()> {
    name.push_str(part.to_str()?);
    Some(())
}

/// A file name as it was before it was escaped.
#[cfg(unix)]
fn unescaped(part: &str) -> OsString {
    use std::os::unix::ffi::OsStringExt;
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part;
    while let Some((before, after)) = rest.split_once(ESCAPE) {
        bytes.extend_from_slice(before.as_bytes());
        match after.get(..2).map(|digits| u8::from_str_radix(digits, 16)) {
            Some(Ok(byte)) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.extend_from_slice(ESCAPE.encode_utf8(&mut [0; 4]).as_bytes());
                rest = after;
            }
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    OsString::from_vec(bytes)
}

/// Where an [`Entry::name`], or a name made of one, lies in another folder. A backslash and a colon are characters like others
/// where the system has it so. Refuses what could leave the folder.
#[cfg(unix)]
pub fn join(root: &Path, name: &str) -> Result<PathBuf> {
    let mut path = root.to_owned();
    for part in name.split('/') {
        if matches!(part, "" | "." | "..") || part.contains('\0') {
            return safe_join(root, name);
        }
        path.push(unescaped(part));
    }
    Ok(path)
}

/// Where an [`Entry::name`], or a name made of one, lies in another folder.
#[cfg(not(unix))]
pub fn join(root: &Path, name: &str) -> Result<PathBuf> {
    safe_join(root, name)
}

/// Where a member or relative name lies in an output folder; refuses names that could leave it
/// ("zip slip"): `..`, absolute paths, drive letters, NUL. Both slashes separate, on any system,
/// so that a name means the same everywhere.
pub fn safe_join(root: &Path, name: &str) -> Result<PathBuf> {
    let refuse = |why: &str| {
        let what =
            format!("the name {name:?} {why}: it could be written outside the output folder");
        Err(Error::new(Kind::Malformed, what))
    };
    if name.starts_with(['/', '\\']) {
        return refuse("is absolute");
    }
    if name.contains('\0') {
        return refuse("contains a NUL");
    }
    let mut path = root.to_owned();
    let mut empty = true;
    for part in name.split(['/', '\\']) {
        match part {
            "" | "." => continue,
            ".." => return refuse("contains \"..\""),
            _ => {}
        }
        // `C:x` is relative to a drive; as a later part it starts a path anew when joined.
        let bytes = part.as_bytes();
        if bytes.len() >= 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':' {
            return refuse("has a drive letter");
        }
        path.push(part);
        empty = false;
    }
    if empty {
        return refuse("is empty");
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn names_stay_in_the_output_folder() {
        let root = Path::new("out");
        for (name, path) in [
            ("a", "out/a"),
            ("a/b.class", "out/a/b.class"),
            ("a\\b", "out/a/b"),
            ("./a//b/", "out/a/b"),
            ("..a/b..", "out/..a/b.."),
            ("a:b", "out/a:b"),
        ] {
            let joined = safe_join(root, name).ok();
            if name == "a:b" {
                // Looks like a drive letter.
                assert_eq!(joined, None);
            } else {
                assert_eq!(joined.as_deref(), Some(Path::new(path)), "{name}");
            }
        }
        for name in [
            "",
            ".",
            "/",
            "..",
            "../a",
            "a/../../b",
            "a/..",
            "a\\..\\..\\b",
            "/etc/passwd",
            "\\\\host\\share",
            "\\a",
            "C:\\a",
            "c:a",
            "x/C:/a",
            "a\0b",
        ] {
            assert!(safe_join(root, name).is_err(), "{name:?}");
        }
        insta::assert_snapshot!(
            safe_join(root, "../x").unwrap_err(),
            @r#"the name "../x" contains "..": it could be written outside the output folder"#
        );
    }

    #[test]
    fn files_are_listed_by_name() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["b.jar", "a/z.class", "a.jar", "a/b/c.class"] {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, name).unwrap();
        }
        fs::create_dir(dir.path().join("empty")).unwrap();
        let listing = list(dir.path()).unwrap();
        let names: Vec<_> = listing.files.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(names, ["a.jar", "a/b/c.class", "a/z.class", "b.jar"]);
        assert!(listing.skipped.is_empty());
        assert_eq!(fs::read(&listing.files[1].path).unwrap(), b"a/b/c.class");
        assert!(list(&dir.path().join("none")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn any_name_leads_back_to_its_file() {
        use std::os::unix::ffi::OsStrExt;
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let names: [&[u8]; 8] = [
            b"a\\b",
            b"C:x",
            b"\xff\xfe.jar",
            b"b\xffc",
            "b\u{fffd}FFc".as_bytes(),
            "\u{fffd}".as_bytes(),
            "\u{fffd}\u{e9}".as_bytes(),
            b"new\nline",
        ];
        for name in names {
            fs::write(root.join(OsStr::from_bytes(name)), name).unwrap();
        }
        let listing = list(root).unwrap();
        assert_eq!(listing.files.len(), names.len());
        for entry in &listing.files {
            assert_eq!(join(root, &entry.name).unwrap(), entry.path);
        }
        for pair in listing.files.windows(2) {
            assert_ne!(pair[0].name, pair[1].name);
        }
        for name in ["../a", "a/../../b", "/etc", "", "a\0b"] {
            assert!(join(root, name).is_err(), "{name:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_to_files_are_files_and_cycles_do_not_hang() {
        use std::os::unix::fs::symlink;
        let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(outside.path().join("lib-1.2.jar"), "x").unwrap();
        let root = dir.path();
        symlink(outside.path().join("lib-1.2.jar"), root.join("lib.jar")).unwrap();
        symlink(outside.path(), root.join("out")).unwrap();
        symlink("..", root.join("cycle")).unwrap();
        symlink("self", root.join("self")).unwrap();
        symlink("lib.jar", root.join("other.jar")).unwrap();
        fs::write(root.join("own.jar"), "x").unwrap();
        symlink("own.jar", root.join("same.jar")).unwrap();
        let listing = list(root).unwrap();
        let names: Vec<_> = listing.files.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(names, ["lib.jar", "other.jar", "own.jar", "same.jar"]);
        assert_eq!(
            listing.led_out,
            [root.join("lib.jar"), root.join("other.jar")]
        );
        let skipped: Vec<_> = listing.skipped.iter().map(|(_, why)| *why).collect();
        assert_eq!(
            skipped,
            ["a link to a folder", "a link to a folder", "a broken link"]
        );
    }
}
