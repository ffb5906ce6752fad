//! What the splicer writes, as the JDK sees it: `jar tf`, `ZipFile`, and `ZipInputStream`, which
//! reads local headers alone. Needs a JDK (11 or newer) on the path.

#[path = "support/jdk.rs"]
mod jdk;
#[path = "support/zipgen.rs"]
#[allow(dead_code)]
mod zipgen;

use jdk::jdk;
use std::path::Path;
use std::process::Command;
use weave::internals::container::zip::{Archive, Codec, Method, Packed, Splicer};

/// Prints the members of archives with their CRC-32: as the directory has them and as a stream
/// has them.
const READER: &str = r#"
import java.util.zip.*;
public class Reader {
    public static void main(String[] args) throws Exception {
        for (String path : args) {
            StringBuilder file = new StringBuilder(), stream = new StringBuilder();
            try (ZipFile zip = new ZipFile(path)) {
                for (var e : java.util.Collections.list(zip.entries())) {
                    add(file, e, zip.getInputStream(e).readAllBytes());
                }
            }
            try (var in = new ZipInputStream(new java.io.FileInputStream(path))) {
                for (ZipEntry e; (e = in.getNextEntry()) != null; ) add(stream, e, in.readAllBytes());
            }
            if (!file.toString().equals(stream.toString())) {
                throw new Exception(path + ": ZipFile sees\n" + file + "ZipInputStream sees\n" + stream);
            }
            System.out.print(file + "\n");
        }
    }
    static void add(StringBuilder out, ZipEntry e, byte[] data) throws Exception {
        CRC32 crc = new CRC32();
        crc.update(data);
        out.append(String.format("%08x %d %s%n", crc.getValue(), data.length, e.getName()));
    }
}
"#;

fn run(command: &mut Command) -> String {
    let out = command
        .output()
        .unwrap_or_else(|e| panic!("{command:?} needs a JDK on the path: {e}"));
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        out.status.success(),
        "{command:?}: {}{}",
        text(&out.stdout),
        text(&out.stderr)
    );
    text(&out.stdout)
}

/// Splices a sample: a member in three is replaced, one is added. None is encrypted or has data
/// in a form that `ZipInputStream` cannot know the end of.
fn splice(bytes: &[u8]) -> Vec<u8> {
    let archive = Archive::open(bytes).unwrap();
    let mut codec = Codec::new();
    let new = [Method::Stored, Method::Deflated]
        .map(|method| Packed::new(method, &b"new ".repeat(50), &mut codec));
    let mut splicer = Splicer::new(&archive, Vec::new());
    splicer.add("first/é", &new[1]).unwrap();
    for (i, member) in archive.members().iter().enumerate() {
        if i % 3 == 1 && !member.is_folder() {
            splicer.replace(&new[i / 3 % 2]).unwrap();
        } else {
            splicer.keep().unwrap();
        }
    }
    splicer.add("last", &new[0]).unwrap();
    splicer.finish().unwrap()
}

/// What the reader above must print.
fn expected(bytes: &[u8]) -> String {
    let archive = Archive::open(bytes).unwrap();
    let mut codec = Codec::new();
    let mut out = Vec::new();
    let mut lines = String::new();
    for member in archive.members() {
        member.read(&mut codec, 1 << 20, &mut out).unwrap();
        let crc = libdeflater::crc32(&out);
        lines += &format!("{crc:08x} {} {}\n", out.len(), member.name());
    }
    lines + "\n"
}

#[test]
fn the_jdk_reads_spliced_archives() {
    let dir = tempfile::tempdir().unwrap();
    let (mut paths, mut lines) = (Vec::new(), String::new());
    for (i, spec) in zipgen::samples().into_iter().enumerate() {
        // A stream begins with a local header; encrypted, doubled and Latin-1 members and a
        // directory in another order are not what both readers agree about.
        if !spec.prefix.is_empty() || spec.reversed || spec.entries.is_empty() {
            continue;
        }
        // Nor is a gap, nor the descriptor of a stored member, nor one with needlessly wide sizes:
        // a stream ends there, as it does in the unspliced archive.
        if spec.entries.iter().any(|e| !e.gap.is_empty()) {
            continue;
        }
        let mut spec = spec;
        spec.entries.retain(|e| match e.descriptor {
            zipgen::Descriptor::None => true,
            zipgen::Descriptor::With { wide, .. } => e.deflate && !wide,
        });
        let bytes = splice(&zipgen::write(&spec));
        let path = dir.path().join(format!("{i}.jar"));
        std::fs::write(&path, &bytes).unwrap();
        lines += &expected(&bytes);
        paths.push(path);
    }
    assert!(paths.len() >= 4);
    let reader = dir.path().join("Reader.java");
    std::fs::write(&reader, READER).unwrap();
    let java = |args: &[&Path]| {
        run(jdk("java")
            .args([
                "-Dfile.encoding=UTF-8",
                "-Dstdout.encoding=UTF-8",
                "-Dsun.stdout.encoding=UTF-8",
            ])
            .args(args))
    };
    let mut args = vec![reader.as_path()];
    args.extend(paths.iter().map(|p| p.as_path()));
    assert_eq!(java(&args).replace("\r\n", "\n"), lines);
}

#[test]
fn jar_lists_every_spliced_sample() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.jar");
    for spec in zipgen::samples() {
        // `jar` refuses names that are not UTF-8, and does not look for a zip64 record behind a
        // prefix.
        let latin1 = spec
            .entries
            .iter()
            .any(|e| std::str::from_utf8(&e.name).is_err());
        if latin1 || (spec.zip64 && spec.relative && !spec.prefix.is_empty()) {
            continue;
        }
        let bytes = splice(&zipgen::write(&spec));
        std::fs::write(&path, &bytes).unwrap();
        let listed = run(jdk("jar").arg("tf").arg(&path));
        let archive = Archive::open(&bytes).unwrap();
        assert_eq!(listed.lines().count(), archive.members().len(), "{spec:?}");
        assert!(listed.contains("last"));
    }
}
