//! Reading and splicing together, over archives of every shape that `zipgen` writes.

use super::read::is_aligned;
use super::zipgen::{self, Align, Descriptor, Entry, Spec};
use super::*;
use crate::bytes::{u16_at, u32_at};
use crate::error::{Kind, Result};
use proptest::prelude::*;
use std::sync::LazyLock;

const LIMIT: u64 = 1 << 20;

fn keep_all(bytes: &[u8]) -> Vec<u8> {
    let archive = Archive::open(bytes).unwrap();
    let mut splicer = Splicer::new(&archive, Vec::new());
    for _ in archive.members() {
        splicer.keep().unwrap();
    }
    splicer.finish().unwrap()
}

/// Members in the directory's order, as name and data; `None` for what cannot be read.
fn contents(bytes: &[u8]) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
    let archive = Archive::open(bytes).unwrap();
    let mut codec = Codec::new();
    let of = |i: usize| {
        let member: &Member<'_> = &archive.members()[i];
        let mut out = vec![0xaa; 7];
        let readable = !member.is_encrypted();
        let read = member.read(&mut codec, LIMIT, &mut out);
        assert_eq!(read.is_ok(), readable, "{read:?}");
        (member.raw_name().to_vec(), readable.then_some(out))
    };
    archive.directory_order().map(of).collect()
}

/// What happens to a member.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Do {
    Keep,
    Stored,
    Deflated,
    Drop,
    AddAndKeep,
}

const NEW: &[u8] = b"new data, new data, new data, and some more of the new data";

fn splice(bytes: &[u8], doing: &[Do]) -> Vec<u8> {
    // Packed once: the tests below splice many thousand times.
    static NEW_PACKED: LazyLock<[Packed; 2]> = LazyLock::new(|| {
        let mut codec = Codec::new();
        [Method::Stored, Method::Deflated].map(|method| Packed::new(method, NEW, &mut codec))
    });
    let [stored, deflated] = &*NEW_PACKED;
    let archive = Archive::open(bytes).unwrap();
    let mut splicer = Splicer::new(&archive, Vec::new());
    for what in doing.iter().take(archive.members().len()) {
        match what {
            Do::Keep => splicer.keep().unwrap(),
            Do::Stored => splicer.replace(stored).unwrap(),
            Do::Deflated => splicer.replace(deflated).unwrap(),
            Do::Drop => splicer.drop().unwrap(),
            Do::AddAndKeep => {
                splicer.add("added/é", deflated).unwrap();
                splicer.keep().unwrap();
            }
        }
    }
    splicer.add("added/last", stored).unwrap();
    splicer.finish().unwrap()
}

/// Splices, and checks the result against the input.
fn check_splice(bytes: &[u8], doing: &[Do]) {
    let out = splice(bytes, doing);
    let (before, after) = (Archive::open(bytes).unwrap(), Archive::open(&out).unwrap());
    assert!(out.starts_with(before.prefix()));
    let aligned = is_aligned(before.members());

    // Contents, in file order.
    let mut codec = Codec::new();
    let mut read = |m: &Member<'_>| {
        let mut data = Vec::new();
        m.read(&mut codec, LIMIT, &mut data).ok().map(|()| data)
    };
    let mut members = after.members().iter();
    for (member, what) in before.members().iter().zip(doing) {
        if *what == Do::AddAndKeep {
            assert_eq!(members.next().unwrap().name(), "added/é");
        }
        if *what == Do::Drop {
            continue;
        }
        let new = members.next().unwrap();
        assert_eq!(new.raw_name(), member.raw_name());
        let (old_extra, new_extra) = (member.local_extra(), new.local_extra());
        match what {
            Do::Keep | Do::AddAndKeep => {
                assert_eq!(new.packed(), member.packed());
                assert_eq!(read(new), read(member));
                if !aligned {
                    assert_eq!(new.local(), member.local());
                }
                // Flags, method, time, CRC-32, sizes, attributes.
                assert_eq!(new.central()[4..42], member.central()[4..42]);
                assert_eq!(new.central().len(), member.central().len());
            }
            _ => {
                let method = if *what == Do::Stored { 0 } else { 8 };
                assert_eq!(read(new).unwrap(), NEW);
                assert_eq!(new.method().id(), method);
                assert!(!new.is_encrypted());
                // The local header tells all: no descriptor.
                let local = new.local();
                assert_eq!(u16_at(local, 6) & 8, 0);
                assert_eq!(u32_at(local, 14), new.crc32());
                assert_eq!(u32_at(local, 18) as usize, new.packed().len());
                assert_eq!(u32_at(local, 22) as usize, NEW.len());
                // Time; then attributes.
                assert_eq!(local[10..14], member.local()[10..14]);
                assert_eq!(new.central()[34..42], member.central()[34..42]);
            }
        }
        // The timestamp field of the samples is in both.
        let timestamp = |extra: &[u8]| memchr::memmem::find(extra, b"UT\x05\x00").is_some();
        assert_eq!(timestamp(old_extra), timestamp(new_extra));
        assert!(!new_extra.starts_with(&[1, 0]) || *what == Do::Keep || *what == Do::AddAndKeep);
    }
    assert_eq!(members.next().unwrap().name(), "added/last");
    assert!(members.next().is_none());

    // Alignment: what had one keeps it.
    let was = |new: &Member<'_>, alignment| {
        let same = |m: &&Member<'_>| m.raw_name() == new.raw_name();
        let all_aligned = |m: &Member<'_>| {
            m.method() == Method::Stored
                && m.size() > 0
                && m.data_offset().is_multiple_of(alignment)
        };
        let mut old = before.members().iter().filter(same).peekable();
        old.peek().is_some() && old.all(all_aligned)
    };
    for (i, new) in after.members().iter().enumerate() {
        if aligned && new.method() == Method::Stored && new.size() > 0 {
            assert_eq!(new.data_offset() % 4, 0, "member {i}");
            if new.name().ends_with(".so") && was(new, 4096) {
                assert_eq!(new.data_offset() % 4096, 0, "member {i}");
            }
        }
    }

    // What was written is kept as well as what came from elsewhere.
    assert_eq!(keep_all(&out), out);
}

#[test]
fn kept_whole_an_archive_comes_out_byte_for_byte() {
    for spec in zipgen::samples() {
        let bytes = zipgen::write(&spec);
        assert!(Archive::is_zip(&bytes));
        assert_eq!(keep_all(&bytes), bytes, "{spec:?}");
        // So does what follows the archive.
        let followed = [&bytes[..], b"trailing"].concat();
        assert_eq!(keep_all(&followed), followed, "{spec:?}");
    }
}

#[test]
fn members_read_as_they_were_written() {
    for spec in zipgen::samples() {
        let bytes = zipgen::write(&spec);
        let mut expected: Vec<_> = spec
            .entries
            .iter()
            .map(|e| (e.name.clone(), (e.flags & 1 == 0).then(|| e.data.clone())))
            .collect();
        if spec.reversed {
            expected.reverse();
        }
        assert_eq!(contents(&bytes), expected);
        let archive = Archive::open(&bytes).unwrap();
        let names = archive.members().iter().map(|m| m.raw_name().to_vec());
        let written = spec.entries.iter().map(|e| e.name.clone());
        assert!(names.eq(written), "file order");
    }
}

#[test]
fn every_sample_can_be_spliced() {
    use Do::*;
    for spec in zipgen::samples() {
        let bytes = zipgen::write(&spec);
        for doing in [
            [Keep; 8],
            [Stored; 8],
            [Deflated; 8],
            [Drop; 8],
            [AddAndKeep; 8],
            [Deflated, Keep, Keep, Keep, Keep, Keep, Keep, Keep],
            [Keep, Keep, Stored, Keep, Drop, Keep, Keep, Keep],
            [Drop, Keep, Keep, Deflated, AddAndKeep, Keep, Stored, Keep],
        ] {
            check_splice(&bytes, &doing);
        }
    }
}

#[test]
fn a_signing_block_goes_when_something_changes() {
    for spec in zipgen::samples() {
        if spec.gap.is_empty() {
            continue;
        }
        let bytes = zipgen::write(&spec);
        let holds = |bytes: &[u8]| memchr::memmem::find(bytes, &spec.gap).is_some();
        assert!(holds(&bytes));
        assert!(!holds(&splice(&bytes, &[Do::Keep; 8])));
    }
}

#[test]
fn a_nested_archive_is_opened_where_it_lies() {
    let inner = zipgen::write(&zipgen::samples()[9]);
    let outer = zipgen::write(&Spec {
        entries: vec![Entry::stored("BOOT-INF/lib/a.jar", &inner)],
        ..Spec::default()
    });
    let archive = Archive::open(&outer).unwrap();
    let data = archive.find("BOOT-INF/lib/a.jar").unwrap().stored();
    let data = data.unwrap().unwrap();
    assert!(outer.as_ptr_range().contains(&data.as_ptr()));
    assert_eq!(Archive::open(data).unwrap().members().len(), 4);
}

#[test]
fn an_archive_is_made_from_nothing() {
    let empty = Splicer::create(Vec::new()).finish().unwrap();
    assert_eq!(Archive::open(&empty).unwrap().members().len(), 0);

    let mut codec = Codec::new();
    let mut splicer = Splicer::create(Vec::new());
    for i in 0..70_000 {
        let data = Packed::new(Method::Stored, &[], &mut codec);
        splicer.add(&format!("{i}"), &data).unwrap();
    }
    let bytes = splicer.finish().unwrap();
    let archive = Archive::open(&bytes).unwrap();
    assert_eq!(archive.members().len(), 70_000);
    assert_eq!(archive.members()[69_999].name(), "69999");
    assert!(archive.end_records().0.is_some(), "zip64");
    check_splice(&bytes, &[Do::Keep; 70_000]);
}

#[test]
fn a_comment_may_look_like_an_end_record() {
    let mut plain = zipgen::write(&Spec {
        entries: vec![Entry::stored("a", b"1"), Entry::stored("b", b"2")],
        ..Spec::default()
    });
    let end = memchr::memmem::rfind(&plain, b"PK\x05\x06").unwrap();
    plain.truncate(end + 20);
    for comment in [
        [&[b'x'; 100][..], b"PK\x05\x06", &[0; 30]].concat(),
        [&b"PK\x05\x06"[..], &[0xff; 40]].concat(),
        b"PK\x05\x06".to_vec(),
    ] {
        let length = u16::try_from(comment.len()).unwrap().to_le_bytes();
        let bytes = [&plain[..], &length, &comment].concat();
        assert!(Archive::is_zip(&bytes));
        assert_eq!(Archive::open(&bytes).unwrap().members().len(), 2);
        assert_eq!(keep_all(&bytes), bytes);
        let prefixed = [&b"#!/bin/sh\n"[..], &bytes].concat();
        assert!(Archive::is_zip(&prefixed));
        assert_eq!(Archive::open(&prefixed).unwrap().members().len(), 2);
    }
}

#[test]
fn a_count_that_wrapped_around_is_read() {
    // As Java wrote before it knew zip64.
    let entries = (0..65_537).map(|i| Entry::stored(&format!("{i:x}"), b""));
    let bytes = zipgen::write(&Spec {
        entries: entries.collect(),
        ..Spec::default()
    });
    assert_eq!(Archive::open(&bytes).unwrap().members().len(), 65_537);
    assert_eq!(keep_all(&bytes), bytes);
    let dropped = splice(&bytes, &[Do::Drop; 65_537]);
    assert_eq!(Archive::open(&dropped).unwrap().members().len(), 1);
    let kept = splice(&bytes, &[Do::Keep; 65_537]);
    assert_eq!(Archive::open(&kept).unwrap().members().len(), 65_538);
}

#[test]
fn a_prefix_that_would_be_taken_for_the_directory_is_an_error() {
    let data = Packed::new(Method::Stored, NEW, &mut Codec::new());
    let mut made = Splicer::create(Vec::new());
    made.add("a", &data).unwrap();
    made.add("b", &data).unwrap();
    let made = made.finish().unwrap();
    let second = Archive::open(&made).unwrap().members()[1].offset();
    let keep_first = |prefix: &[u8]| {
        let bytes = [prefix, &made].concat();
        let archive = Archive::open(&bytes).unwrap();
        assert_eq!(archive.base(), prefix.len());
        let mut splicer = Splicer::new(&archive, Vec::new());
        splicer.keep().unwrap();
        splicer.drop().unwrap();
        splicer.finish()
    };
    let mut prefix = vec![b'#'; 300];
    let spliced = keep_first(&prefix).unwrap();
    assert_eq!(Archive::open(&spliced).unwrap().members().len(), 1);
    // Where the directory of the output begins, counted from behind the prefix.
    put(&mut prefix, second, b"PK\x01\x02");
    let refused = keep_first(&prefix).unwrap_err();
    assert!(refused.to_string().contains("looks like"), "{refused}");
}

#[test]
fn misuse_of_the_splicer_is_an_error() {
    let bytes = zipgen::write(&zipgen::samples()[9]);
    let archive = Archive::open(&bytes).unwrap();
    let mut splicer = Splicer::new(&archive, Vec::new());
    splicer.keep().unwrap();
    assert!(splicer.finish().is_err());
    let mut splicer = Splicer::new(&archive, Vec::new());
    for _ in 0..4 {
        splicer.drop().unwrap();
    }
    assert!(splicer.keep().is_err());
}

#[test]
fn what_is_no_zip_is_told_apart() {
    for bytes in [&b""[..], b"PK", b"\xca\xfe\xba\xbe", b"MZ....PK\x05\x06"] {
        assert!(!Archive::is_zip(bytes));
        let error = Archive::open(bytes).err().unwrap();
        assert_eq!(error.kind(), Kind::Malformed);
        assert!(error.offset().is_some());
    }
}

/// The error of opening, or of reading all members of, a sample with some bytes changed.
fn refusal(spec: &Spec, change: impl Fn(&mut Vec<u8>)) -> String {
    let mut bytes = zipgen::write(spec);
    change(&mut bytes);
    read_all(&bytes).unwrap_err().to_string()
}

fn read_all(bytes: &[u8]) -> Result<()> {
    let archive = Archive::open(bytes)?;
    let (mut codec, mut out) = (Codec::new(), Vec::new());
    for member in archive.members() {
        member.read(&mut codec, LIMIT, &mut out)?;
    }
    Ok(())
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

fn nth(bytes: &[u8], what: &[u8], n: usize) -> usize {
    memchr::memmem::find_iter(bytes, what).nth(n).unwrap()
}

#[test]
fn lies_are_refused_with_their_place() {
    let one = Spec {
        entries: vec![
            Entry::stored("one", b"11111"),
            Entry::deflated("two", &[b'2'; 3000]),
        ],
        ..Spec::default()
    };
    let record = |bytes: &[u8], n| nth(bytes, b"PK\x01\x02", n);
    let refusals = [
        refusal(&one, |b| b[30] = b'0'),
        refusal(&one, |b| b[8] = 8),
        refusal(&one, |b| b[6] = 1),
        // Both members at the first one's header.
        refusal(&one, |b| {
            let at = record(b, 1);
            put(b, at + 42, &[0; 4]);
        }),
        // The first reaches into the second.
        refusal(&one, |b| {
            let at = record(b, 0);
            put(b, at + 20, &[9]);
        }),
        refusal(&one, |b| {
            let at = record(b, 1);
            put(b, at + 20, &[60]);
        }),
        refusal(&one, |b| {
            let at = record(b, 1);
            put(b, at + 20, &[0, 0, 0, 9]);
        }),
        refusal(&one, |b| {
            let at = record(b, 1);
            put(b, at + 42, &[0, 0, 0, 9]);
        }),
        refusal(&one, |b| {
            let at = nth(b, b"PK\x05\x06", 0);
            put(b, at + 10, &[3]);
        }),
        refusal(&one, |b| {
            let at = record(b, 1);
            b[at] = b'Q';
        }),
        // From here on: opened, but not read.
        refusal(&one, |b| {
            let at = record(b, 0);
            b[at + 24] = 6;
        }),
        refusal(&one, |b| b[34] = b'2'),
        refusal(&one, |b| {
            let at = record(b, 1);
            put(b, at + 24, &[0, 0, 15, 0]);
        }),
        refusal(&one, |b| {
            let at = record(b, 1);
            put(b, at + 24, &[0, 0, 16, 1]);
        }),
        refusal(&one, |b| {
            let at = record(b, 1);
            put(b, at + 24, &[0xb7]);
        }),
        refusal(&one, |b| {
            let at = record(b, 1);
            put(b, at + 24, &[0xb9]);
        }),
        refusal(&one, |b| {
            let at = nth(b, b"two", 0);
            put(b, at + 3, &[0xff]);
        }),
        refusal(&one, |b| {
            let at = record(b, 0);
            b[8] = 93;
            b[at + 10] = 93;
        }),
        refusal(&one, |b| {
            let at = record(b, 0);
            b[6] = 1;
            b[at + 8] = 1;
        }),
    ];
    insta::assert_snapshot!(refusals.join("\n"), @r#"
    zip member "one": its local header names it "0ne" (at byte 0x0)
    zip member "one": packed by method 0, by 8 in its local header (at byte 0x0)
    zip member "one": only one of its headers says that it is encrypted (at byte 0x0)
    zip member "two": its local header names it "one" (at byte 0x0)
    zip members "one" and "two" overlap (at byte 0x26)
    zip member "two" overlaps the directory (at byte 0x26)
    zip member "two": no local header, or data beyond the file: Unexpected end of file (at byte 0x26)
    zip member "two": no local header, or data beyond the file: Unexpected end of file (at byte 0x9000000)
    the zip directory has 2 members, its end record says 3 (at byte 0xbe)
    zip directory: Invalid signature: expected 0x02014b50, got 0x02014b51 (at byte 0x8d)
    stored in 5 bytes, but 6 in size (at byte 0x21)
    CRC-32 is 0xb26bde2e, the directory says 0xa0de71c0 (at byte 0x21)
    21 bytes of deflated data cannot hold 983040 bytes (at byte 0x47)
    17825792 bytes are more than the limit of 1048576
    its data inflates to more than the directory says (at byte 0x47)
    its data inflates to less than the directory says (at byte 0x47)
    its data is no valid deflate stream (at byte 0x47)
    is packed by method 93, which is not supported
    is encrypted
    "#);
}

#[test]
fn no_truncation_and_no_mutation_panics() {
    for spec in zipgen::samples() {
        let bytes = zipgen::write(&spec);
        // Padding to a page says nothing new.
        let len = bytes.len().min(1500);
        for end in 0..len {
            exercise(&bytes[..end]);
            exercise(&bytes[bytes.len() - end..]);
        }
        let mut mutated = bytes.clone();
        let tail = bytes.len().saturating_sub(len).max(len)..bytes.len();
        for at in (0..len).chain(tail) {
            for flip in [0xff, 0x01, 0x80] {
                mutated[at] ^= flip;
                exercise(&mutated);
                mutated[at] = bytes[at];
            }
        }
    }
}

/// Everything that can be done with hostile bytes.
fn exercise(bytes: &[u8]) {
    let _ = Archive::is_zip(bytes);
    let _ = read_all(bytes);
    if Archive::open(bytes).is_ok() {
        assert_eq!(keep_all(bytes), bytes);
        let count = Archive::open(bytes).unwrap().members().len();
        let doing = [Do::Deflated, Do::Keep, Do::Stored, Do::Drop];
        let doing: Vec<_> = doing.into_iter().cycle().take(count).collect();
        let out = splice(bytes, &doing);
        Archive::open(&out).unwrap();
    }
}

fn entry() -> impl Strategy<Value = Entry> {
    let descriptor = prop_oneof![
        3 => Just(Descriptor::None),
        1 => (any::<bool>(), any::<bool>())
            .prop_map(|(signature, wide)| Descriptor::With { signature, wide }),
    ];
    let extra = prop_oneof![
        Just(Vec::new()),
        Just(b"UT\x05\x00\x01\x02\x03\x04\x05".to_vec()),
        Just(b"\xfe\xca\x00\x00".to_vec()),
    ];
    (
        ("[a-z/]{1,8}(\\.so)?", prop::collection::vec(0..4u8, 0..200)),
        any::<bool>(),
        descriptor,
        prop::bool::weighted(0.2),
        extra,
        (prop::collection::vec(any::<u8>(), 0..4), "[a-z]{0,5}"),
    )
        .prop_map(
            |((name, data), deflate, descriptor, zip64, extra, (gap, comment))| Entry {
                deflate,
                descriptor,
                zip64,
                extra,
                gap,
                comment: comment.into_bytes(),
                ..Entry::stored(&name, &data)
            },
        )
}

fn spec() -> impl Strategy<Value = Spec> {
    (
        prop::collection::vec(entry(), 0..6),
        prop_oneof![Just(Vec::new()), Just(b"#!/bin/sh\n".to_vec())],
        any::<[bool; 3]>(),
        "[a-z]{0,8}",
        0..4,
        "[a-z]{0,40}",
    )
        .prop_map(|(mut entries, prefix, flags, gap, align, comment)| {
            for e in &mut entries {
                let to = if e.name.ends_with(b".so") { 4096 } else { 4 };
                e.align = match align {
                    1 if !e.deflate => Align::Zeroes(to),
                    2 if !e.deflate => Align::Field(to),
                    _ => Align::None,
                };
            }
            Spec {
                entries,
                prefix,
                relative: flags[0],
                reversed: flags[1],
                zip64: flags[2],
                gap: gap.into_bytes(),
                comment: comment.into_bytes(),
            }
        })
}

proptest! {
    #[test]
    fn any_archive_is_kept_and_spliced(
        spec in spec(),
        doing in prop::collection::vec(
            prop_oneof![
                3 => Just(Do::Keep),
                1 => Just(Do::Stored),
                1 => Just(Do::Deflated),
                1 => Just(Do::Drop),
                1 => Just(Do::AddAndKeep),
            ],
            6,
        ),
    ) {
        let bytes = zipgen::write(&spec);
        prop_assert_eq!(keep_all(&bytes), &bytes[..]);
        check_splice(&bytes, &doing);
    }
}
