use crate::cil::image::Image;
use crate::cil::metadata::Metadata;
use crate::cil::metadata::additions::Additions;
use crate::cil::metadata::schema::{column, table};
use crate::cil::metadata::writer::rebuild;
use crate::cil::testing::SHAPES;

/// The fixture's metadata with streams put in front of its own and behind them, and its own renamed.
fn with(front: &[&str], behind: &[&str], rename: impl Fn(&str) -> String) -> Vec<u8> {
    let image = Image::parse(SHAPES).unwrap();
    let root = &image.metadata.root;
    // Long enough, and nothing that makes sense: no string in it ends.
    let junk = vec![0x58; 4096];
    let junk = |names: &[&str]| -> Vec<(String, Vec<u8>)> {
        let named = names.iter().map(|name| (name.to_string(), junk.clone()));
        named.collect()
    };
    let own = (root.streams.iter()).map(|s| {
        let name = String::from_utf8(s.name.to_vec()).unwrap();
        (rename(&name), s.data.to_vec())
    });
    let streams: Vec<_> = junk(front)
        .into_iter()
        .chain(own)
        .chain(junk(behind))
        .collect();
    let mut out = image.metadata.bytes[..16 + root.version.len()].to_vec();
    out.extend_from_slice(&[0, 0, streams.len() as u8, 0]);
    let headers = streams
        .iter()
        .map(|(name, _)| 8 + (name.len() + 1).next_multiple_of(4));
    let mut at = out.len() + headers.sum::<usize>();
    for (name, data) in &streams {
        out.extend_from_slice(&(at as u32).to_le_bytes());
        out.extend_from_slice(&(data.len() as u32).to_le_bytes());
        out.extend_from_slice(name.as_bytes());
        out.resize((out.len() + 1).next_multiple_of(4), 0);
        at += data.len();
    }
    for (_, data) in &streams {
        out.extend_from_slice(data);
    }
    out
}

/// What the types are called, with what was added at the end of the heap of strings.
fn names(metadata: &Metadata<'_>, added: u32) -> Vec<String> {
    let rows = metadata.tables.iter(table::TYPE_DEF);
    let indices = rows
        .map(|row| row.get(column::type_def::NAME))
        .chain([added]);
    indices
        .map(|index| metadata.strings.text(index).unwrap().into_owned())
        .collect()
}

/// Obfuscators add streams under names that are taken. Which one counts was tried on CoreCLR 8.
#[test]
fn of_several_streams_of_a_name_the_one_that_runtimes_take_counts() {
    let heaps = ["#Strings", "#Blob", "#GUID", "#US"];
    let lower = ["#strings", "#blob", "#guid", "#jtd"];
    let as_is = |name: &str| name.to_owned();
    let edited = |name: &str| name.replace("#~", "#-");
    let edited_and_lower = |name: &str| match name {
        "#~" => "#-".to_owned(),
        name => name.to_lowercase(),
    };
    let samples = [
        with(&[], &[], as_is),
        with(&heaps, &[], as_is),
        with(&["#~"], &lower, as_is),
        with(&[], &["#-", "#JTD"], as_is),
        with(&[], &heaps, edited),
        with(&[], &["#-"], edited),
        with(&["#Schema"], &["#Strings", "#~"], as_is),
        with(&[], &heaps, edited_and_lower),
    ];
    let image = Image::parse(SHAPES).unwrap();
    let mut wanted = names(&image.metadata, 0);
    wanted.pop();
    wanted.push("added".to_owned());
    for (number, bytes) in samples.iter().enumerate() {
        let metadata = Metadata::parse(bytes).unwrap();
        let mut additions = Additions::new(&metadata);
        let added = additions.string("added");
        let fields = additions.field_map(&metadata).unwrap();
        let rebuilt = rebuild(&metadata, additions, &fields).unwrap();
        assert!(rebuilt.mvid.is_some(), "sample {number}");
        let mut out = Vec::new();
        for (_, piece) in rebuilt.pieces.into_iter() {
            out.extend_from_slice(&piece);
        }
        let after = Metadata::parse(&out).unwrap();
        assert_eq!(names(&after, added), wanted, "sample {number}");
        assert_eq!(after.root.streams.len(), metadata.root.streams.len());
    }
}
