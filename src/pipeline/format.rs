//! What a file is, by its content.

use crate::container::zip::Archive;

/// What the pipeline can do with a file. Every format's way through the pipeline begins at a
/// `match` over this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A JVM class file (JVMS 4.1).
    Class,
    /// A PE file (ECMA-335 II.25): a .NET assembly, if it has a CLI header.
    Pe,
    /// A dex file (Dalvik Executable format).
    Dex,
    /// A zip file: jar, war, ear, apk, or any other.
    Zip,
    /// Anything else: copied.
    Other,
}

/// Bytes that [`Format::of`] looks at.
pub(crate) const HEAD: usize = 8;

/// The first major version of class files that any JDK wrote. A Mach-O "fat" library begins with the
/// same magic, followed by its small number of architectures where a class has its version.
const OLDEST_MAJOR: u16 = 45;

impl Format {
    /// The format of a file that begins with these bytes (eight are enough).
    pub fn of(bytes: &[u8]) -> Format {
        match bytes {
            [0xca, 0xfe, 0xba, 0xbe, _, _, a, b, ..]
                if u16::from_be_bytes([*a, *b]) >= OLDEST_MAJOR =>
            {
                Format::Class
            }
            [b'M', b'Z', ..] => Format::Pe,
            // A jmod: its header, then a zip file.
            [b'J', b'M', 1, _, b'P', b'K', ..] => Format::Zip,
            [b'd', b'e', b'x', b'\n', _, _, _, 0, ..] => Format::Dex,
            _ if Archive::is_zip(bytes) => Format::Zip,
            _ => Format::Other,
        }
    }
}

/// File names that say that the file is a zip of classes.
const ARCHIVE_SUFFIXES: [&str; 10] = [
    ".jar", ".jmod", ".war", ".ear", ".zip", ".rar", ".aar", ".hpi", ".apk", ".aab",
];

/// Whether a member or file of this name is to be looked into for nested classes.
pub(crate) fn is_archive_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    ARCHIVE_SUFFIXES.iter().any(|suffix| {
        bytes.len() > suffix.len()
            && bytes[bytes.len() - suffix.len()..].eq_ignore_ascii_case(suffix.as_bytes())
    })
}

/// The last segment of a path inside a container.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_decides_not_the_name() {
        assert_eq!(Format::of(b"\xca\xfe\xba\xbe\0\0\0\x3d"), Format::Class);
        assert_eq!(Format::of(b"\xca\xfe\xba\xbe\0\0\0\x02"), Format::Other);
        assert_eq!(Format::of(b"MZ\x90\0\x03\0\0\0"), Format::Pe);
        assert_eq!(Format::of(b"dex\n035\0"), Format::Dex);
        assert_eq!(Format::of(b"\xca\xfe"), Format::Other);
        assert_eq!(Format::of(b""), Format::Other);
    }

    #[test]
    fn archive_names() {
        assert!(is_archive_name("lib/a.JAR"));
        assert!(!is_archive_name(".jar"));
        assert!(!is_archive_name("jar"));
        assert_eq!(file_name("a/b/c.jar"), "c.jar");
    }
}
