use super::*;
use crate::aspect::advice::{Advice, Reason};
use crate::aspect::everything::everything;
use crate::aspect::joinpoint::{Method, Type, Visitor};
use crate::aspect::plan::Plan;
use crate::cil::pdb::Source;
use crate::cil::testing::{SHAPES, Whole, whole};
use crate::cil::{Assembly, scan, weave};
use proptest::prelude::*;
use std::fmt::Write;

/// The key pair of the hook library, with which the fixture is signed, too.
const KEY: &[u8] = include_bytes!("../../../../runtime/dotnet/weave.snk");

/// Plans every `every`th method.
fn plan(image: &Image<'_>, every: u32) -> Result<Plan> {
    let mut ids = 1..;
    let id = |ty: u32, index: u32, _: &Method<'_>| {
        let is_planned = (ty + 1 + index).is_multiple_of(every);
        is_planned.then(|| ids.next()).flatten()
    };
    let mut scanned = Ok(());
    let plan = everything(Advice::ALL, id, |visitor| scanned = scan(image, visitor));
    scanned.map(|()| plan)
}

/// Weaves every `every`th method.
fn woven(bytes: &[u8], every: u32, symbols: Option<&[u8]>, key: Option<&[u8]>) -> Result<Whole> {
    let image = Image::parse(bytes)?;
    let plan = plan(&image, every)?;
    let source = Source::of(&image, None);
    let key = key.map(|key| StrongNameKey::parse(key).unwrap());
    let (woven, _) = weave(
        Assembly::of(&image, &source),
        plan.methods,
        key.as_ref(),
        usize::MAX,
    )?;
    let symbols = Arc::new(symbols.unwrap_or_default().to_vec());
    whole(woven.write(symbols)?)
}

/// Everything that tables say but where bodies are, rows that hooks need left out.
fn listing(image: &Image<'_>) -> String {
    struct Names(String);
    impl Visitor for Names {
        fn enter_type(&mut self, ty: &Type<'_>) -> bool {
            let _ = writeln!(self.0, "{:?} {}", ty.access, ty.name);
            let out = &mut self.0;
            ty.details.supertypes(&mut |name| out.push_str(name));
            ty.details.annotations(&mut |name| out.push_str(name));
            true
        }
        fn method(&mut self, index: u32, method: &Method<'_>) {
            let _ = writeln!(
                self.0,
                "{index} {:?} {} {}",
                method.access, method.name, method.descriptor
            );
            let out = &mut self.0;
            method.details.annotations(&mut |name| out.push_str(name));
        }
    }
    let mut names = Names(String::new());
    scan(image, &mut names).unwrap();
    for row in image.metadata.tables.iter(table::FIELD_RVA) {
        let (_, data) = image.pe.at_rva(row.get(0)).unwrap();
        let _ = writeln!(names.0, "{:#x} {:02x?}", row.get(0), &data[..12]);
    }
    names.0
}

/// The contents of a manifest resource.
fn resource<'a>(image: &Image<'a>, name: &str) -> &'a [u8] {
    let (_, all) = image.pe.slice(image.cli.resources).unwrap();
    let strings = &image.metadata.strings;
    let mut rows = image.metadata.tables.iter(table::MANIFEST_RESOURCE);
    let row = rows.find(|row| strings.text(row.get(2)).unwrap() == name);
    let at = row.unwrap().get(0) as usize;
    let size = u32::from_le_bytes(all[at..at + 4].try_into().unwrap()) as usize;
    &all[at + 4..at + 4 + size]
}

#[test]
fn what_is_not_woven_stays_as_it_was() {
    let before = Image::parse(SHAPES).unwrap();
    for every in [1, 3, 7] {
        let written = woven(SHAPES, every, Some(b"symbols"), None).unwrap();
        let after = Image::parse(&written.image).unwrap();
        assert_eq!(listing(&before), listing(&after));
        assert_eq!(after.refusal(), Some(Reason::AlreadyWoven));
        assert_eq!(resource(&after, "Greeting"), b"hello\n");
        assert_eq!(resource(&after, SYMBOLS_RESOURCE), b"symbols");
        let again = woven(SHAPES, every, Some(b"symbols"), None).unwrap();
        assert!(
            again.image == written.image,
            "the same input gives the same bytes"
        );
        // Bodies that were not woven are where they were, but for the numbers of fields.
        let rva = |image: &Image<'_>, method| {
            let row = image
                .metadata
                .tables
                .row(table::METHOD_DEF, method)
                .unwrap();
            row.get(column::method_def::RVA)
        };
        let rows = before.metadata.tables.rows(table::METHOD_DEF);
        let same =
            (1..=rows).filter(|&m| rva(&before, m) == rva(&after, m) && rva(&before, m) != 0);
        assert!(every == 1 || same.count() > 0);
    }
}

#[test]
fn the_content_alone_decides_identity() {
    let mvid = |written: &Whole| {
        let image = Image::parse(&written.image).unwrap();
        *image.metadata.guids.get(1).unwrap().unwrap()
    };
    let a = woven(SHAPES, 1, Some(b"a"), None).unwrap();
    let b = woven(SHAPES, 1, Some(b"b"), None).unwrap();
    assert_ne!(mvid(&a), mvid(&b));
    assert_eq!(mvid(&a)[7] >> 4, 4);
    let stamp = Image::parse(&a.image).unwrap().pe.coff + 4;
    assert_ne!(a.image[stamp..stamp + 4], b.image[stamp..stamp + 4]);
}

#[test]
fn strong_names_are_signed_anew_or_removed() {
    let signed = |bytes: &[u8]| {
        let image = Image::parse(bytes).unwrap();
        let (start, _) = image.pe.slice(image.cli.strong_name).unwrap();
        let row = image.metadata.tables.row(table::ASSEMBLY, 1).unwrap();
        let key = row.get(column::assembly::PUBLIC_KEY);
        let key = image.metadata.blobs.get(key).unwrap();
        let place = start..start + image.cli.strong_name.size as usize;
        let flag = image.cli.flags & cli_flag::STRONG_NAME_SIGNED != 0;
        (
            flag,
            crate::cil::write::strong_name::verify(bytes, place, key),
        )
    };
    // What Roslyn signed is good to begin with: this checks the digest.
    assert_eq!(signed(SHAPES), (true, true));
    let with_key = woven(SHAPES, 1, None, Some(KEY)).unwrap();
    assert_eq!(signed(&with_key.image), (true, true));
    assert_eq!(with_key.warnings, []);
    let without = woven(SHAPES, 1, None, None).unwrap();
    assert_eq!(signed(&without.image), (false, false));
    assert_eq!(without.warnings, [Warning::StrongNameRemoved]);
    let mut damaged = with_key.image.clone();
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    assert_eq!(signed(&damaged), (true, false));
}

#[test]
fn keys_that_are_none_are_told_so() {
    let e = |bytes: &[u8]| StrongNameKey::parse(bytes).map(|_| ()).unwrap_err();
    insta::assert_snapshot!(e(&[]), @"4 bytes wanted, 0 left (at byte 0x0)");
    insta::assert_snapshot!(e(&[6, 2, 0, 0]), @"not a strong-name key pair, which begins with 07 02 00 00");
    insta::assert_snapshot!(e(&KEY[..100]), @"256 bytes wanted, 80 left (at byte 0x14)");
    let mut odd = KEY.to_vec();
    odd[12] = 1;
    insta::assert_snapshot!(e(&odd), @"an RSA key of an impossible size");
    // A byte of the modulus, and one of the private exponent.
    for at in [100, KEY.len() - 1] {
        let mut broken = KEY.to_vec();
        broken[at] ^= 1;
        assert_eq!(e(&broken).to_string(), "the RSA key does not hold together");
    }
}

#[test]
fn certificates_go_and_what_else_lies_behind_the_sections_stays() {
    let mut bytes = SHAPES.to_vec();
    let at = Image::parse(SHAPES)
        .unwrap()
        .pe
        .directory_offset(directory::CERTIFICATE);
    put_le_u32(&mut bytes, at.unwrap(), SHAPES.len() as u32);
    put_le_u32(&mut bytes, at.unwrap() + 4, 64);
    bytes.extend_from_slice(&[0xcc; 64]);
    bytes.extend_from_slice(b"appended");
    let written = woven(&bytes, 1, None, None).unwrap();
    assert!(written.image.ends_with(b"appended"));
    assert!(!written.image.windows(64).any(|w| w == [0xcc; 64]));
    assert!(written.warnings.contains(&Warning::AuthenticodeRemoved));
    let pe = Image::parse(&written.image).unwrap().pe;
    assert!(pe.directory(directory::CERTIFICATE).is_empty());
}

#[test]
fn files_that_lie_are_told_what_is_wrong() {
    let image = Image::parse(SHAPES).unwrap();
    let cli = image
        .pe
        .at_rva(image.pe.directory(directory::CLI_HEADER).rva)
        .unwrap()
        .0;
    let metadata = image.metadata_offset;
    let tables = image.metadata.root.stream(b"#~").unwrap().offset + metadata;
    let told = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = SHAPES.to_vec();
        change(&mut bytes);
        let parsed = Image::parse(&bytes).map(|_| "fine".to_owned());
        parsed.unwrap_or_else(|e| e.to_string())
    };
    let told = [
        told(&|b| b.truncate(0)),
        told(&|b| b[0] = b'X'),
        told(&|b| b.truncate(0x3e)),
        told(&|b| put_le_u32(b, 0x3c, 0x7fff_ffff)),
        told(&|b| b[0x80] = 0),
        told(&|b| b[0x98] = 7),
        told(&|b| b.truncate(0x100)),
        told(&|b| b.truncate(cli + 20)),
        told(&|b| put_le_u32(b, cli + CliHeader::METADATA, 0x7fff_ffff)),
        told(&|b| put_le_u32(b, cli + CliHeader::METADATA + 4, 0x7fff_ffff)),
        told(&|b| b[metadata] = 0),
        told(&|b| put_le_u32(b, metadata + 12, 0xffff_fff0)),
        told(&|b| b[metadata + 12 + 4 + 12 + 2] = 0xff),
        told(&|b| put_le_u32(b, metadata + 12 + 4 + 12 + 4, 0x7fff_ffff)),
        told(&|b| b[tables + 8 + 7] = 0x80),
        told(&|b| put_le_u32(b, tables + 24, 0x7fff_ffff)),
        told(&|b| put_le_u32(b, tables + 24, 0x00ff_ffff)),
    ]
    .join("\n");
    insta::assert_snapshot!(told, @"
    2 bytes wanted, 0 left (at byte 0x0)
    not a PE file (at byte 0x0)
    4 bytes wanted, 2 left (at byte 0x3c)
    4 bytes wanted, 0 left (at byte 0x7fffffff)
    no PE signature (at byte 0x80)
    optional header of kind 0x107 (at byte 0x98)
    224 bytes wanted, 104 left (at byte 0x98)
    4 bytes wanted, 0 left (at byte 0x21c)
    address 0x7fffffff lies in no section
    2147483647 bytes wanted, the section has 6956 left (at byte 0x6d4)
    no metadata signature (at byte 0x6d4)
    version of 4294967280 bytes (at byte 0x6e0)
    255 metadata streams (at byte 0x6f2)
    stream #~ lies outside of the metadata (at byte 0x6f4)
    unknown metadata table 0x3f
    table 0x00 has 2147483647 rows (at byte 0x758)
    167772150 bytes wanted, 2400 left (at byte 0x7c4)
    ");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_damage_panics(places in proptest::collection::vec((0..SHAPES.len(), any::<u8>()), 1..6), cut in 0..SHAPES.len() * 4) {
        let mut bytes = SHAPES.to_vec();
        for (at, byte) in places {
            bytes[at] = byte;
        }
        bytes.truncate(cut.max(64));
        if let Ok(written) = woven(&bytes, 1, Some(b"s"), None) {
            prop_assert!(written.image.len() < 4 * SHAPES.len());
        }
    }
}

/// A fuzzer's finding: a section that reaches beyond the file's end, where the metadata would have gone.
#[test]
fn what_a_section_does_not_hold_is_no_room() {
    let bytes = include_bytes!("../../../../tests/dotnet/fixtures/short-section.dll");
    let image = Image::parse(bytes).unwrap();
    let plan = plan(&image, 1).unwrap();
    let source = Source::of(&image, None);
    let (woven, _) = weave(
        Assembly::of(&image, &source),
        plan.methods,
        None,
        usize::MAX,
    )
    .unwrap();
    let symbols = Arc::new(b"symbols".to_vec());
    let written = whole(woven.write(symbols).unwrap()).unwrap();
    let after = Image::parse(&written.image).unwrap();
    assert_eq!(listing(&image), listing(&after));
}

/// A fuzzer's finding: resources of a size but at no address, which are none. All of the image seemed to be theirs, and free
/// once they have moved.
#[test]
fn resources_without_an_address_leave_no_hole() {
    let plain = include_bytes!("../../../../tests/dotnet/fixtures/steps-release.dll");
    let image = Image::parse(plain).unwrap();
    assert!(image.cli.resources.is_empty());
    let cli = image.pe.directory(directory::CLI_HEADER).rva;
    let size = image.pe.at_rva(cli).unwrap().0 + CliHeader::RESOURCES + 4;
    let mut claimed = plain.to_vec();
    put_le_u32(&mut claimed, size, 0x2a00_0000);
    let holes = |bytes: &[u8]| {
        let image = Image::parse(bytes).unwrap();
        free_ranges::find(&image, &[]).unwrap().holes
    };
    assert_eq!(holes(&claimed), holes(plain));
}
