//! What makes a zip file a jar: the manifest and its signatures (JAR File Specification).

use std::borrow::Cow;
use std::ops::Range;

/// The name of the manifest.
pub const MANIFEST: &str = "META-INF/MANIFEST.MF";

/// "No line may be longer than 72 bytes (not characters), in its UTF8-encoded form", without its
/// end (JAR File Specification, "Notes on Manifest and Signature Files").
const MAX_LINE: usize = 72;

/// Whether a member is part of a jar signature (`META-INF/*.SF`, `.RSA`, `.DSA`, `.EC`, `SIG-*`).
///
/// As the specification has it ("Signed JAR File"): in any case, and only directly in `META-INF`;
/// after `SIG-` any name with no extension or one of up to three letters and digits.
pub fn is_signature_file(name: &str) -> bool {
    const FOLDER: &str = "META-INF/";
    let Some(file) = strip_prefix_ignore_case(name, FOLDER).filter(|f| !f.contains('/')) else {
        return false;
    };
    let extension = file.rsplit_once('.').map(|(_, extension)| extension);
    let of_signature = |e: &str| {
        ["SF", "RSA", "DSA", "EC"]
            .iter()
            .any(|s| s.eq_ignore_ascii_case(e))
    };
    if extension.is_some_and(of_signature) {
        return true;
    }
    strip_prefix_ignore_case(file, "SIG-").is_some()
        && extension.is_none_or(|e| {
            (1..=3).contains(&e.len()) && e.bytes().all(|b| b.is_ascii_alphanumeric())
        })
}

fn strip_prefix_ignore_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let head = text.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix)
        .then(|| &text[prefix.len()..])
}

/// The paths of a header's clauses, without parameters (OSGi Core, 3.2.4): `a;b;version="[1,2)",c` has `a`, `b` and `c`.
fn header_paths(clauses: &str) -> Vec<String> {
    let mut paths = vec![String::new()];
    let mut is_quoted = false;
    for c in clauses.chars() {
        match c {
            '"' => is_quoted = !is_quoted,
            ',' | ';' if !is_quoted => {
                paths.push(String::new());
                continue;
            }
            _ => {}
        }
        paths.last_mut().expect("there is one").push(c);
    }
    paths.retain_mut(|path| {
        *path = path.trim().to_owned();
        !path.is_empty() && !path.contains('=')
    });
    paths
}

/// A parsed `META-INF/MANIFEST.MF`.
///
/// Edits replace whole attributes; all other bytes are unchanged.
#[derive(Clone, Debug)]
pub struct Manifest {
    source: Vec<u8>,
    /// The main section first, which may have no line; then those that begin with `Name`.
    sections: Vec<Section>,
    /// The end of a line, as the file has it.
    line_end: &'static str,
}

#[derive(Clone, Debug, Default)]
struct Section {
    attributes: Vec<Lines>,
    /// The empty lines that end it.
    end: Range<usize>,
}

/// An attribute: its line and continuation lines, with their ends.
#[derive(Clone, Debug)]
enum Lines {
    Source(Range<usize>),
    New(Vec<u8>),
}

impl Lines {
    fn bytes<'a>(&'a self, source: &'a [u8]) -> &'a [u8] {
        match self {
            Lines::Source(range) => &source[range.clone()],
            Lines::New(bytes) => bytes,
        }
    }
}

impl Default for Manifest {
    fn default() -> Manifest {
        Manifest::new()
    }
}

impl Manifest {
    /// The manifest of a jar that has none.
    pub fn new() -> Manifest {
        Manifest::parse(b"Manifest-Version: 1.0\r\n\r\n")
    }

    /// Parses; a manifest is read leniently, as the JDK does: any line end, a missing last one,
    /// lines that make no attribute (which stay and are never found).
    pub fn parse(bytes: &[u8]) -> Manifest {
        let mut sections = vec![Section::default()];
        let mut at = 0;
        while at < bytes.len() {
            let (text, end) = line(bytes, at);
            let section = sections.last_mut().expect("there is the main one");
            if text == at {
                if section.end.is_empty() {
                    section.end = at..end;
                } else {
                    section.end.end = end;
                }
            } else if bytes[at] == b' ' && section.end.is_empty() && !section.attributes.is_empty()
            {
                if let Some(Lines::Source(range)) = section.attributes.last_mut() {
                    range.end = end;
                }
            } else if section.end.is_empty() {
                section.attributes.push(Lines::Source(at..end));
            } else {
                sections.push(Section {
                    attributes: vec![Lines::Source(at..end)],
                    end: 0..0,
                });
            }
            at = end;
        }
        let first = &bytes[..line(bytes, 0).1];
        let line_end = line_end(first).unwrap_or("\r\n");
        Manifest {
            source: bytes.to_vec(),
            sections,
            line_end,
        }
    }

    /// A main attribute, by case-insensitive name.
    pub fn get(&self, name: &str) -> Option<String> {
        let i = self.find(name)?;
        let lines = self.sections[0].attributes[i].bytes(&self.source);
        attribute(lines).map(|(_, value)| value)
    }

    /// Sets a main attribute. Control characters in the value become spaces: they would end the
    /// attribute and begin another.
    pub fn set(&mut self, name: &str, value: &str) {
        let found = self.find(name);
        let main = &self.sections[0].attributes;
        // The name as the file writes it, and the line end as beside it.
        let beside = found.map(|i| &main[i]).or(main.last());
        let beside = beside.map_or(&[][..], |lines| lines.bytes(&self.source));
        let written = found.and_then(|_| attribute_name(beside));
        let line_end = line_end(beside).unwrap_or(self.line_end);
        let new = wrapped(written.as_deref().unwrap_or(name), value, line_end);
        let unended = found.is_none() && !beside.is_empty() && self::line_end(beside).is_none();
        let ended = unended.then(|| [beside, line_end.as_bytes()].concat());

        let main = &mut self.sections[0].attributes;
        if let (Some(last), Some(ended)) = (main.last_mut(), ended) {
            *last = Lines::New(ended);
        }
        match found {
            Some(i) => main[i] = Lines::New(new),
            None => main.push(Lines::New(new)),
        }
        // "Manifest-Version" must be the first line of a main section that says anything.
        if main.len() == 1 && self.get("Manifest-Version").is_none() {
            let version = wrapped("Manifest-Version", "1.0", line_end);
            self.sections[0].attributes.insert(0, Lines::New(version));
        }
    }

    /// Adds a relative URL to `Class-Path` unless it is there already.
    pub fn add_class_path(&mut self, url: &str) {
        let old = self.get("Class-Path").unwrap_or_default();
        if old.split_whitespace().any(|u| u == url) {
            return;
        }
        let value = format!("{} {url}", old.trim());
        self.set("Class-Path", value.trim_start());
    }

    /// Lets an OSGi bundle load a package that others export: their loaders do not look at `Class-Path`. What is no bundle
    /// stays as it is.
    ///
    /// The import is dynamic (OSGi Core, 3.9.2), so that a bundle whose framework has no such package starts all the same.
    /// A fragment has no dynamic imports: it gets an optional one, which its host takes over.
    pub fn import_package(&mut self, package: &str) {
        let imports = |manifest: &Manifest, header: &str| {
            let clauses = manifest.get(header).unwrap_or_default();
            header_paths(&clauses).iter().any(|path| {
                let prefix = path.strip_suffix('*');
                path == package || prefix.is_some_and(|prefix| package.starts_with(prefix))
            })
        };
        if self.get("Bundle-SymbolicName").is_none()
            || imports(self, "Import-Package")
            || imports(self, "DynamicImport-Package")
        {
            return;
        }
        match self.get("Fragment-Host") {
            None => self.add_clause("DynamicImport-Package", package),
            Some(_) => {
                let clause = format!("{package};resolution:=optional");
                self.add_clause("Import-Package", &clause);
            }
        }
    }

    /// Lets an OSGi bundle load what lies at its root, which is so unless it says otherwise (`Bundle-ClassPath`).
    pub fn search_root(&mut self) {
        if let Some(clauses) = self.get("Bundle-ClassPath")
            && !header_paths(&clauses)
                .iter()
                .any(|path| path == "." || path == "/")
        {
            self.add_clause("Bundle-ClassPath", ".");
        }
    }

    /// Adds a clause to a header of OSGi's.
    pub fn add_clause(&mut self, header: &str, clause: &str) {
        let old = self.get(header).unwrap_or_default();
        match old.trim() {
            "" => self.set(header, clause),
            old => self.set(header, &format!("{old},{clause}")),
        }
    }

    /// Removes `*-Digest*` and `Magic` attributes of sections, and sections left empty; returns
    /// whether there were any.
    pub fn remove_digests(&mut self) -> bool {
        let source = &self.source;
        let mut removed = false;
        let mut first = true;
        self.sections.retain_mut(|section| {
            if std::mem::take(&mut first) {
                return true;
            }
            let before = section.attributes.len();
            section.attributes.retain(|lines| {
                let name = attribute_name(lines.bytes(source));
                !name.is_some_and(|name| is_digest(&name))
            });
            if section.attributes.len() == before {
                return true;
            }
            removed = true;
            // What is left of a section that was there for its digest is its name.
            !section.attributes.iter().all(|lines| {
                let name = attribute_name(lines.bytes(source));
                name.is_some_and(|name| name.eq_ignore_ascii_case("Name"))
            })
        });
        removed
    }

    /// The bytes of the main section, all lines ended, without the empty line that ends it.
    pub fn main_section(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for lines in &self.sections[0].attributes {
            out.extend_from_slice(lines.bytes(&self.source));
        }
        if !out.is_empty() && line_end(&out).is_none() {
            out.extend_from_slice(self.line_end.as_bytes());
        }
        out
    }

    /// The bytes: untouched parts as they were, lines of at most 72 bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.source.len() + 128);
        for section in &self.sections {
            for lines in &section.attributes {
                out.extend_from_slice(lines.bytes(&self.source));
            }
            out.extend_from_slice(&self.source[section.end.clone()]);
        }
        out
    }

    /// The main attribute of that name; the last one counts, as for the JDK.
    fn find(&self, name: &str) -> Option<usize> {
        self.sections[0].attributes.iter().rposition(|lines| {
            let found = attribute_name(lines.bytes(&self.source));
            found.is_some_and(|found| found.eq_ignore_ascii_case(name))
        })
    }
}

/// An attribute, wrapped between characters.
pub(super) fn wrapped(name: &str, value: &str, line_end: &str) -> Vec<u8> {
    let mut out = String::with_capacity(name.len() + value.len() + 16);
    let mut width = 0;
    let value = value.chars().map(|c| if c.is_control() { ' ' } else { c });
    for c in name.chars().chain(": ".chars()).chain(value) {
        if width + c.len_utf8() > MAX_LINE {
            out.push_str(line_end);
            out.push(' ');
            width = 1;
        }
        out.push(c);
        width += c.len_utf8();
    }
    out.push_str(line_end);
    out.into_bytes()
}

/// The end of the last of some lines, if it has one.
fn line_end(lines: &[u8]) -> Option<&'static str> {
    ["\r\n", "\n", "\r"]
        .into_iter()
        .find(|end| lines.ends_with(end.as_bytes()))
}

/// Where the line at `at` ends, without and with its end (CR LF, LF, or CR).
fn line(bytes: &[u8], at: usize) -> (usize, usize) {
    match memchr::memchr2(b'\n', b'\r', &bytes[at..]) {
        None => (bytes.len(), bytes.len()),
        Some(n) => {
            let text = at + n;
            let crlf = bytes[text..].starts_with(b"\r\n");
            (text, text + if crlf { 2 } else { 1 })
        }
    }
}

/// The name in an attribute's first line; a byte order mark before it is not part of it.
fn attribute_name(lines: &[u8]) -> Option<Cow<'_, str>> {
    let lines = lines.strip_prefix(b"\xef\xbb\xbf").unwrap_or(lines);
    let text = &lines[..line(lines, 0).0];
    let colon = memchr::memchr(b':', text)?;
    Some(String::from_utf8_lossy(&text[..colon]))
}

/// Name and value, lines joined before they are decoded: a line may end within a character.
fn attribute(lines: &[u8]) -> Option<(String, String)> {
    let name = attribute_name(lines)?.into_owned();
    let mut joined = Vec::with_capacity(lines.len());
    let mut at = 0;
    while at < lines.len() {
        let (text, end) = line(lines, at);
        let skip = usize::from(at > 0);
        joined.extend_from_slice(&lines[at + skip..text]);
        at = end;
    }
    let value = &joined[memchr::memchr(b':', &joined)? + 1..];
    let value = value.strip_prefix(b" ").unwrap_or(value);
    Some((name, String::from_utf8_lossy(value).into_owned()))
}

/// Whether an attribute is there for a signature: `SHA-256-Digest`, `SHA1-Digest-Manifest`,
/// `MD5-Digest-fr` (a digest of a translated file), `Magic`, and `Digest-Algorithms` of old
/// signers.
fn is_digest(name: &str) -> bool {
    let name = name.trim_end().to_ascii_lowercase();
    name.ends_with("-digest")
        || name.contains("-digest-")
        || name == "magic"
        || name == "digest-algorithms"
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(manifest: &Manifest) -> String {
        String::from_utf8(manifest.to_bytes()).unwrap()
    }

    #[test]
    fn signature_files_are_directly_in_meta_inf() {
        for name in [
            "META-INF/A.SF",
            "meta-inf/a.rsa",
            "META-INF/X.Y.DSA",
            "META-INF/CERT.EC",
            "META-INF/.sf",
            "META-INF/SIG-FOO",
            "Meta-Inf/sig-foo.x1",
        ] {
            assert!(is_signature_file(name), "{name}");
        }
        for name in [
            "META-INF/MANIFEST.MF",
            "META-INF/sub/A.SF",
            "A.SF",
            "xMETA-INF/A.SF",
            "META-INF/SIG-FOO.class",
            "META-INF/SIG-FOO.",
            "META-INF/a.sfx",
            "META-INF/SF",
            "META-INF/é.txt",
            "META-INFé/a.SF",
        ] {
            assert!(!is_signature_file(name), "{name}");
        }
    }

    #[test]
    fn attributes_are_found_across_lines_and_in_any_case() {
        let manifest = Manifest::parse(
            b"Manifest-Version: 1.0\r\nClass-Path: a.jar b\r\n .jar\r\nX:y\r\n\r\nName: a\r\nZ: 1\r\n",
        );
        assert_eq!(manifest.get("class-path").as_deref(), Some("a.jar b.jar"));
        assert_eq!(manifest.get("X").as_deref(), Some("y"));
        assert_eq!(manifest.get("Z"), None);
        assert_eq!(manifest.get("Name"), None);
    }

    #[test]
    fn edits_keep_everything_else() {
        for end in ["\r\n", "\n", "\r"] {
            let before = "Manifest-Version: 1.0\nMain-Class: a.B\nClass-Path: x.ja\n r\nodd\n\n\nName: a/\nSealed: true\n\n";
            let before = before.replace('\n', end);
            let mut manifest = Manifest::parse(before.as_bytes());
            manifest.set("main-class", "c.D");
            manifest.add_class_path("x.jar");
            assert_eq!(text(&manifest), before.replace("a.B", "c.D"));
            manifest.add_class_path("y.jar");
            manifest.set("New", "1");
            let expected = "Manifest-Version: 1.0\nMain-Class: c.D\nClass-Path: x.jar y.jar\nodd\nNew: 1\n\n\nName: a/\nSealed: true\n\n";
            assert_eq!(text(&manifest), expected.replace('\n', end));
        }
    }

    #[test]
    fn odd_manifests_can_be_edited() {
        let edited = |before: &[u8]| {
            let mut manifest = Manifest::parse(before);
            manifest.set("A", "1");
            assert_eq!(manifest.get("A").as_deref(), Some("1"));
            text(&manifest)
        };
        assert_eq!(edited(b""), "Manifest-Version: 1.0\r\nA: 1\r\n");
        assert_eq!(edited(b"X: y"), "X: y\r\nA: 1\r\n");
        assert_eq!(edited(b"X: y\n z"), "X: y\n z\nA: 1\n");
        assert_eq!(
            edited(b"\n\nName: x\n"),
            "Manifest-Version: 1.0\nA: 1\n\n\nName: x\n"
        );
        assert_eq!(edited(b"\xef\xbb\xbfX: 0\n"), "\u{feff}X: 0\nA: 1\n");
        // A bare CR before an LF would make one line end of two.
        assert_eq!(
            edited(b"X: y\ra: b\r\n\nName: c\n"),
            "X: y\ra: 1\r\n\nName: c\n"
        );
        assert_eq!(edited(b" z\n"), " z\nA: 1\n");
        let mut new = Manifest::new();
        new.add_class_path("a.jar");
        assert_eq!(
            text(&new),
            "Manifest-Version: 1.0\r\nClass-Path: a.jar\r\n\r\n"
        );
        // Nothing in a value begins another attribute.
        new.set("X", "1\r\nMain-Class: evil");
        assert_eq!(new.get("Main-Class"), None);
    }

    #[test]
    fn bundles_import_what_they_do_not_have() {
        let edited = |lines: &str| {
            let mut manifest = Manifest::parse(lines.as_bytes());
            manifest.import_package("weave.runtime");
            text(&manifest)
        };
        let same = |lines: &str| assert_eq!(edited(lines), lines);
        same("Main-Class: a.B\n");
        same("Bundle-SymbolicName: a\nImport-Package: b,weave.runtime;version=\"[1,2)\"\n");
        same("Bundle-SymbolicName: a\nDynamicImport-Package: *\n");
        same("Bundle-SymbolicName: a\nDynamicImport-Package: b, weave.*;x=\"a,b\"\n");
        assert_eq!(
            edited(
                "Bundle-SymbolicName: a\nImport-Package: b;x:=\"weave.runtime,weave.runtime\"\n"
            ),
            "Bundle-SymbolicName: a\nImport-Package: b;x:=\"weave.runtime,weave.runtime\"\n\
             DynamicImport-Package: weave.runtime\n"
        );
        assert_eq!(
            edited("Bundle-SymbolicName: a;singleton:=true\nDynamicImport-Package: b.*\n"),
            "Bundle-SymbolicName: a;singleton:=true\nDynamicImport-Package: b.*,weave.runtime\n"
        );
        assert_eq!(
            edited("Bundle-SymbolicName: a\nFragment-Host: b\n"),
            "Bundle-SymbolicName: a\nFragment-Host: b\nImport-Package: weave.runtime;resolution:=optional\n"
        );
    }

    #[test]
    fn the_root_of_a_bundle_is_searched() {
        let edited = |lines: &str| {
            let mut manifest = Manifest::parse(lines.as_bytes());
            manifest.search_root();
            text(&manifest)
        };
        for same in [
            "A: b\n",
            "Bundle-ClassPath: .,a.jar\n",
            "Bundle-ClassPath: a.jar, /\n",
        ] {
            assert_eq!(edited(same), same);
        }
        assert_eq!(
            edited("Bundle-ClassPath: lib/a.jar\n"),
            "Manifest-Version: 1.0\nBundle-ClassPath: lib/a.jar,.\n"
        );
    }

    #[test]
    fn digests_go_and_other_attributes_stay() {
        let mut manifest = Manifest::parse(
            b"Manifest-Version: 1.0\nBuilt-By: x\n\n\
              Name: a.class\nSHA-256-Digest: abc\n def\nSHA1-Digest-fr: x\n\n\
              Name: b/\nSealed: true\nsha1-digest: abc\n\n\
              Name: c\n\n\
              Name: d\nMagic: x\nX-Digestive: 1\n\n\
              Name: e\n with-a-long-name\nMD5-Digest: 1\n\n",
        );
        assert!(manifest.remove_digests());
        insta::assert_snapshot!(text(&manifest), @"
        Manifest-Version: 1.0
        Built-By: x

        Name: b/
        Sealed: true

        Name: c

        Name: d
        X-Digestive: 1
        ");
        assert!(!manifest.remove_digests());
    }

    #[test]
    fn long_values_wrap_between_characters() {
        let mut manifest = Manifest::new();
        let value = "é".repeat(100);
        manifest.set("Class-Path", &value);
        let text = text(&manifest);
        assert!(text.lines().all(|l| l.len() <= MAX_LINE));
        assert_eq!(text.lines().nth(1).unwrap().len(), 72);
        assert_eq!(
            Manifest::parse(text.as_bytes()).get("Class-Path"),
            Some(value)
        );
    }

    proptest! {
        #[test]
        fn parsing_keeps_every_byte(bytes in "([a-c: \r\n]|\r\n|Name: |-Digest: |é){0,40}") {
            let mut manifest = Manifest::parse(bytes.as_bytes());
            prop_assert_eq!(manifest.to_bytes(), bytes.as_bytes());
            manifest.remove_digests();
            manifest.set("Some-Name", "value");
            let again = Manifest::parse(&manifest.to_bytes());
            prop_assert_eq!(again.get("some-name"), Some("value".to_owned()));
        }

        #[test]
        fn any_value_reads_back(value in "[^\\p{Cc}]{0,300}") {
            let mut manifest = Manifest::new();
            manifest.set("X-Name", &value);
            let bytes = manifest.to_bytes();
            prop_assert_eq!(Manifest::parse(&bytes).get("X-Name"), Some(value));
            let longest = bytes.split(|&b| b == b'\n').map(|l| l.len()).max().unwrap();
            prop_assert!(longest <= MAX_LINE + 1);
        }
    }
}
