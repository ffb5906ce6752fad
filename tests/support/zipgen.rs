//! A small zip writer for tests: it can write every legal oddity and, with its fields set against
//! each other, illegal ones. Shared by unit tests, `tests/container.rs` and the fuzz seeds.

/// How an entry's data descriptor is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Descriptor {
    None,
    /// With signature or not; 64-bit sizes or not.
    With {
        signature: bool,
        wide: bool,
    },
}

/// How an entry's data is aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    None,
    /// With zeroes in the extra field, as `zipalign`.
    Zeroes(usize),
    /// With the extra field 0xD935, as `apksigner`.
    Field(usize),
}

/// A member to write.
#[derive(Clone, Debug)]
pub struct Entry {
    pub name: Vec<u8>,
    pub data: Vec<u8>,
    pub deflate: bool,
    pub descriptor: Descriptor,
    /// Sizes (and offset) in zip64 extra fields.
    pub zip64: bool,
    pub align: Align,
    /// Extra field of both headers.
    pub extra: Vec<u8>,
    pub comment: Vec<u8>,
    /// More flags for both headers.
    pub flags: u16,
    /// Bytes after the entry that belong to nobody.
    pub gap: Vec<u8>,
}

/// An archive to write.
#[derive(Clone, Debug, Default)]
pub struct Spec {
    pub prefix: Vec<u8>,
    /// Whether offsets count from the end of the prefix.
    pub relative: bool,
    pub entries: Vec<Entry>,
    /// Bytes before the directory, as an APK signing block.
    pub gap: Vec<u8>,
    /// The directory's order is the reverse of the file's.
    pub reversed: bool,
    /// With a zip64 end record.
    pub zip64: bool,
    pub comment: Vec<u8>,
}

impl Entry {
    /// A stored member.
    pub fn stored(name: &str, data: &[u8]) -> Entry {
        Entry {
            name: name.as_bytes().to_vec(),
            data: data.to_vec(),
            deflate: false,
            descriptor: Descriptor::None,
            zip64: false,
            align: Align::None,
            extra: Vec::new(),
            comment: Vec::new(),
            flags: 0,
            gap: Vec::new(),
        }
    }

    /// A deflated member.
    pub fn deflated(name: &str, data: &[u8]) -> Entry {
        Entry {
            deflate: true,
            ..Entry::stored(name, data)
        }
    }
}

fn deflate(data: &[u8]) -> Vec<u8> {
    let mut compressor = libdeflater::Compressor::new(libdeflater::CompressionLvl::default());
    let mut out = vec![0; compressor.deflate_compress_bound(data.len())];
    let n = compressor.deflate_compress(data, &mut out).unwrap();
    out.truncate(n);
    out
}

fn put16(out: &mut Vec<u8>, value: usize) {
    out.extend((value as u16).to_le_bytes());
}

fn put32(out: &mut Vec<u8>, value: usize) {
    out.extend((value as u32).to_le_bytes());
}

fn put64(out: &mut Vec<u8>, value: usize) {
    out.extend((value as u64).to_le_bytes());
}

/// Writes the archive.
pub fn write(spec: &Spec) -> Vec<u8> {
    let mut out = spec.prefix.clone();
    let base = if spec.relative { out.len() } else { 0 };
    let mut records = Vec::new();
    for e in &spec.entries {
        let offset = out.len() - base;
        let packed = if e.deflate {
            deflate(&e.data)
        } else {
            e.data.clone()
        };
        let crc = libdeflater::crc32(&e.data) as usize;
        let has_descriptor = e.descriptor != Descriptor::None;
        let wide = matches!(e.descriptor, Descriptor::With { wide: true, .. });
        let zip64 = e.zip64 || wide;
        let flags = usize::from(e.flags) | if has_descriptor { 8 } else { 0 };
        let sizes = [e.data.len(), packed.len()];

        let mut extra = Vec::new();
        if zip64 {
            put16(&mut extra, 1);
            put16(&mut extra, 16);
            for size in sizes {
                put64(&mut extra, if has_descriptor { 0 } else { size });
            }
        }
        extra.extend(&e.extra);
        let data_at = |extra: usize| out.len() + 30 + e.name.len() + extra;
        match e.align {
            Align::None => {}
            Align::Zeroes(n) => {
                let at = data_at(extra.len());
                extra.resize(extra.len() + at.next_multiple_of(n) - at, 0);
            }
            Align::Field(n) => {
                let at = data_at(extra.len() + 6);
                let zeroes = at.next_multiple_of(n) - at;
                put16(&mut extra, 0xd935);
                put16(&mut extra, 2 + zeroes);
                put16(&mut extra, n);
                extra.resize(extra.len() + zeroes, 0);
            }
        }

        let fixed = |out: &mut Vec<u8>| {
            put16(out, if zip64 { 45 } else { 20 });
            put16(out, flags);
            put16(out, if e.deflate { 8 } else { 0 });
            put32(out, 0x5a21_6c5f);
        };
        out.extend(b"PK\x03\x04");
        fixed(&mut out);
        put32(&mut out, if has_descriptor { 0 } else { crc });
        for size in [sizes[1], sizes[0]] {
            let value = if has_descriptor { 0 } else { size };
            put32(&mut out, if zip64 { 0xffff_ffff } else { value });
        }
        put16(&mut out, e.name.len());
        put16(&mut out, extra.len());
        out.extend(&e.name);
        out.extend(&extra);
        out.extend(&packed);
        if let Descriptor::With { signature, wide } = e.descriptor {
            if signature {
                out.extend(b"PK\x07\x08");
            }
            put32(&mut out, crc);
            for size in [sizes[1], sizes[0]] {
                if wide {
                    put64(&mut out, size);
                } else {
                    put32(&mut out, size);
                }
            }
        }
        out.extend(&e.gap);

        let mut extra = Vec::new();
        if zip64 {
            put16(&mut extra, 1);
            put16(&mut extra, 24);
            for value in [sizes[0], sizes[1], offset] {
                put64(&mut extra, value);
            }
        }
        extra.extend(&e.extra);
        let mut record = b"PK\x01\x02".to_vec();
        put16(&mut record, 0x031e);
        fixed(&mut record);
        put32(&mut record, crc);
        for size in [sizes[1], sizes[0]] {
            put32(&mut record, if zip64 { 0xffff_ffff } else { size });
        }
        put16(&mut record, e.name.len());
        put16(&mut record, extra.len());
        put16(&mut record, e.comment.len());
        put16(&mut record, 0);
        put16(&mut record, 1);
        put32(&mut record, 0x81a4_0000);
        put32(&mut record, if zip64 { 0xffff_ffff } else { offset });
        record.extend(&e.name);
        record.extend(&extra);
        record.extend(&e.comment);
        records.push(record);
    }
    out.extend(&spec.gap);
    if spec.reversed {
        records.reverse();
    }
    let directory = out.len() - base;
    let count = records.len();
    out.extend(records.concat());
    let end = out.len() - base;
    if spec.zip64 {
        out.extend(b"PK\x06\x06");
        put64(&mut out, 44);
        put16(&mut out, 45);
        put16(&mut out, 45);
        put32(&mut out, 0);
        put32(&mut out, 0);
        put64(&mut out, count);
        put64(&mut out, count);
        put64(&mut out, end - directory);
        put64(&mut out, directory);
        out.extend(b"PK\x06\x07");
        put32(&mut out, 0);
        put64(&mut out, end);
        put32(&mut out, 1);
    }
    let mark = |value: usize, mark: usize| if spec.zip64 { mark } else { value };
    out.extend(b"PK\x05\x06");
    put32(&mut out, 0);
    put16(&mut out, mark(count, 0xffff));
    put16(&mut out, mark(count, 0xffff));
    put32(&mut out, mark(end - directory, 0xffff_ffff));
    put32(&mut out, mark(directory, 0xffff_ffff));
    put16(&mut out, spec.comment.len());
    out.extend(&spec.comment);
    out
}

/// Small archives that between them have every oddity.
pub fn samples() -> Vec<Spec> {
    let extra = b"UT\x05\x00\x01\x00\x00\x00\x5f".to_vec();
    let with = |signature, wide| Descriptor::With { signature, wide };
    let text = b"a text that says the same, the same, the same and the same again";
    let plain = Spec {
        entries: vec![
            Entry::stored("META-INF/", b""),
            Entry::deflated("META-INF/MANIFEST.MF", b"Manifest-Version: 1.0\r\n\r\n"),
            Entry {
                extra: extra.clone(),
                comment: b"comment".to_vec(),
                ..Entry::deflated("a/B.class", text)
            },
            Entry::stored("lib/c.jar", text),
        ],
        comment: b"archive comment".to_vec(),
        ..Spec::default()
    };
    let descriptors = Spec {
        entries: [(true, false), (false, false), (true, true), (false, true)]
            .into_iter()
            .enumerate()
            .map(|(i, (signature, wide))| Entry {
                descriptor: with(signature, wide),
                deflate: i != 1,
                ..Entry::stored(&format!("d{i}"), text)
            })
            .collect(),
        ..Spec::default()
    };
    let zip64 = Spec {
        entries: vec![
            Entry {
                zip64: true,
                extra: extra.clone(),
                ..Entry::deflated("z1", text)
            },
            Entry::stored("z2", b"x"),
        ],
        zip64: true,
        ..Spec::default()
    };
    let aligned = |align: fn(usize) -> Align| Spec {
        entries: vec![
            Entry::deflated("classes.dex", text),
            Entry {
                align: align(4),
                extra: extra.clone(),
                ..Entry::stored("resources.arsc", text)
            },
            Entry {
                align: align(4096),
                ..Entry::stored("lib/arm64-v8a/a.so", b"\x7fELF")
            },
            Entry::deflated("b", b"b"),
        ],
        gap: b"a signing block".to_vec(),
        ..Spec::default()
    };
    let mut gaps = plain.clone();
    for entry in &mut gaps.entries {
        entry.gap = b"gap".to_vec();
    }
    gaps.gap = b"before the directory".to_vec();
    let prefixed = |spec: &Spec, relative| Spec {
        prefix: b"#!/bin/sh\nexec java -jar \"$0\" \"$@\"\n".to_vec(),
        relative,
        ..spec.clone()
    };
    let mut odd = plain.clone();
    odd.reversed = true;
    odd.entries.push(Entry::stored("a/B.class", b"again"));
    odd.entries.push(Entry {
        name: b"caf\xe9".to_vec(),
        ..Entry::stored("", b"x")
    });
    odd.entries.push(Entry {
        flags: 1,
        ..Entry::stored("secret", b"0123456789ab")
    });
    vec![
        Spec::default(),
        Spec {
            zip64: true,
            ..Spec::default()
        },
        prefixed(&Spec::default(), false),
        prefixed(&Spec::default(), true),
        prefixed(&plain, false),
        prefixed(&plain, true),
        prefixed(&zip64, false),
        prefixed(&zip64, true),
        prefixed(&descriptors, true),
        plain,
        descriptors,
        zip64,
        aligned(Align::Zeroes),
        aligned(Align::Field),
        gaps,
        odd,
    ]
}
