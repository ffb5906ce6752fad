//! Inputs to begin with: what the tests have, and small ones made here.

#[path = "../../tests/support/zipgen.rs"]
#[allow(dead_code)]
mod zipgen;

use std::path::{Path, PathBuf};
use weave::internals::container::zip::{Archive, Codec};
use weave::internals::symbols::{MAGIC, VERSION, pack};

/// Targets that have seeds.
pub const TARGETS: [&str; 8] = [
    "cil", "class", "dex", "pdb", "rules", "symbols", "trace", "zip",
];

/// Largest class that is a seed.
const CLASS: u64 = 20_000;

/// The seeds of a target, each with a name, in the order of their names.
pub fn of(target: &str) -> Vec<(String, Vec<u8>)> {
    let mut seeds = match target {
        "cil" => files("tests/dotnet/fixtures", ".dll"),
        "pdb" => files("tests/dotnet/fixtures", ".pdb"),
        "dex" => files("tests/dex", ".dex"),
        "rules" => [
            files("rules", ".toml"),
            files("tests/programs/hooks", ".toml"),
        ]
        .concat(),
        "class" => classes(),
        "symbols" => vec![(
            "map".to_owned(),
            [&[128], payload().repeat(2).as_slice()].concat(),
        )],
        "trace" => vec![("calls".to_owned(), trace())],
        "zip" => (zipgen::samples().iter().enumerate())
            .map(|(i, spec)| (format!("sample-{i:02}.zip"), zipgen::write(spec)))
            .collect(),
        _ => Vec::new(),
    };
    seeds.sort();
    seeds
}

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let up = if here.ends_with("fuzz") { ".." } else { "." };
    here.join(up)
}

fn files(folder: &str, ending: &str) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(root().join(folder)).expect("the folder is committed");
    let paths = entries.map(|entry| entry.expect("it can be listed").path());
    let found = paths.filter(|path| path.to_string_lossy().ends_with(ending));
    found
        .map(|path| {
            let name = path.file_name().expect("a file has a name");
            let bytes = std::fs::read(&path).expect("it can be read");
            (name.to_string_lossy().into_owned(), bytes)
        })
        .collect()
}

/// Classes of the hook library.
fn classes() -> Vec<(String, Vec<u8>)> {
    let jar =
        std::fs::read(root().join("runtime/java/weave-runtime.jar")).expect("it is committed");
    let archive = Archive::open(&jar).expect("it is an archive");
    let classes = (archive.members().iter()).filter(|m| m.name().ends_with(".class"));
    let mut codec = Codec::with_level(1);
    let mut seeds = Vec::new();
    for member in classes.filter(|m| m.size() <= CLASS) {
        let mut bytes = Vec::new();
        member
            .read(&mut codec, CLASS, &mut bytes)
            .expect("it is whole");
        seeds.push((member.name().replace('/', "."), bytes));
    }
    seeds
}

/// Entries of a symbols map, each kind of them ("Symbols map" of docs/trace-format.md).
fn payload() -> Vec<u8> {
    let mut out = Vec::new();
    let text = |out: &mut Vec<u8>, text: &str| {
        out.push(text.len() as u8);
        out.extend_from_slice(text.as_bytes());
    };
    out.push(1);
    text(&mut out, "shop.jar");
    out.push(2);
    text(&mut out, "com/acme/Orders");
    text(&mut out, "Orders.java");
    for (id, name) in [(1, "place"), (1, "take")] {
        out.extend([3, id]);
        text(&mut out, name);
        text(&mut out, "(ILjava/lang/String;)V");
        out.push(20);
    }
    for tag in [4, 6] {
        out.extend([tag, 2]);
        text(&mut out, "System.String");
        text(&mut out, "System.Int32");
    }
    out.extend([7, 3]);
    text(&mut out, "Run");
    out.extend([8, 4]);
    text(&mut out, "(\u{1}@)");
    out.extend([5, 9, 2, 3, 4, 7, 3, 4, 8]);
    out
}

/// A symbols map of blocks with these payloads.
pub fn map(payloads: &[&[u8]]) -> Vec<u8> {
    let mut map = MAGIC.to_vec();
    map.extend_from_slice(&VERSION.to_le_bytes());
    map.extend_from_slice(&[0; 6]);
    map.extend_from_slice(&(payloads.len() as u32).to_le_bytes());
    map.extend(payloads.iter().flat_map(|payload| pack(payload)));
    map
}

/// What the target takes for a trace: a header's remainder, then beginnings of chunks.
fn trace() -> Vec<u8> {
    let mut out = vec![0; 128];
    out[64..68].copy_from_slice(&4u32.to_le_bytes());
    out[68..72].copy_from_slice(b"shop");
    let chunk = |kind: u32, owner: u32, start: u64, data: &[u8]| {
        let mut chunk = b"WCHK".to_vec();
        chunk.extend_from_slice(&kind.to_le_bytes());
        chunk.extend_from_slice(&(u64::from(owner) + 1).to_le_bytes());
        chunk.extend_from_slice(&owner.to_le_bytes());
        chunk.extend_from_slice(&0u32.to_le_bytes());
        chunk.extend_from_slice(&start.to_le_bytes());
        chunk.extend_from_slice(data);
        chunk.resize(4096, 0);
        chunk
    };
    let records = |thread: u32, words: &[u64]| {
        let data: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        chunk(1, thread, 100, &data)
    };
    let map = map(&[&payload()]);
    let used = map.len() as u64;
    out.extend(chunk(2, 0, used << 32 | used, &map));
    let escape = |ty: u64, argument: u64, words: u64| argument << 32 | words << 8 | ty << 2;
    let call = |kind: u64, delta: u64, id: u64| id << 32 | delta << 2 | kind;
    let name = u64::from_le_bytes(*b"main\0\0\0\0");
    out.extend(records(
        1,
        &[
            escape(3, 1, 2),
            4 << 32,
            name,
            escape(9, 1, 2),
            4 << 32 | 8,
            0x64_0063_0062_0061,
            call(1, 0, 1),
            call(1, 5, 2),
            escape(9, 2, 2),
            4 << 8 | 2,
            77,
            escape(4, 0, 2),
            1 << 32 | 1,
            0x6d54,
            call(3, 7, 2),
            escape(16, 1, 1),
            77,
            call(1, 3, 3),
            call(2, 3, 3),
            escape(5, 0, 1),
            9,
            call(2, 9, 1),
            escape(8, 0, 2),
            150,
            5 << 8 | 1,
        ],
    ));
    out.extend(records(
        2,
        &[
            escape(17, 4, 2),
            78,
            120,
            escape(16, 2, 1),
            77,
            call(1, 30, 3),
            escape(16, 2, 1),
            77,
            call(2, 3, 3),
            escape(18, 4, 3),
            78,
            180,
            1,
            escape(2, 3, 2),
            0,
            200,
            call(1, 1, 1),
            escape(7, 0, 2),
            0,
            210,
        ],
    ));
    out
}
