//! The symbols map: what each id in a trace stands for.
//!
//! A map travels inside every woven artifact (`META-INF/weave/symbols`), beside the output
//! (`<output>.wsym`), and is copied as it is into each trace by the hook library.
//! `docs/trace-format.md` describes the bytes.

use crate::bytes::{Cursor, put_uleb32};
use crate::error::{Error, Kind, Result};
use rustc_hash::FxHashMap;
use std::fmt::Write as _;
use std::sync::Arc;

/// First bytes of a symbols map.
pub const MAGIC: [u8; 4] = *b"WSYM";
/// Version of the layout.
pub const VERSION: u16 = 1;
/// Where a woven jar carries its map.
pub const MEMBER: &str = "META-INF/weave/symbols";

/// Most bytes that a map may inflate to, whatever its header says: far more than the largest
/// programs need, far less than a machine has.
const MAX_PAYLOAD: usize = 1 << 30;

const TAG_ARTIFACT: u8 = 1;
const TAG_TYPE: u8 = 2;
const TAG_METHOD: u8 = 3;

/// What an id stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// The artifact that the method was woven in (`app.jar!/BOOT-INF/lib/core.jar`).
    pub artifact: Arc<str>,
    /// The type's name in the format's own spelling (`com/acme/Outer$Inner`).
    pub type_name: Arc<str>,
    /// The method's name.
    pub method: Box<str>,
    /// Parameters and return type as the format writes them.
    pub descriptor: Box<str>,
    /// Source file name, or empty.
    pub file: Arc<str>,
    /// First source line of the body, or 0.
    pub line: u32,
}

impl Symbol {
    /// Type and method as people write them: `com.acme.Outer$Inner.run`.
    pub fn name(&self) -> String {
        format!("{}.{}", self.type_name.replace('/', "."), self.method)
    }

    /// Parameter types by their simple names: `(int, String[])`.
    pub fn parameters(&self) -> String {
        let mut out = String::from("(");
        let inner = self
            .descriptor
            .strip_prefix('(')
            .and_then(|d| d.split_once(')'))
            .map_or("", |(params, _)| params);
        let mut rest = inner;
        while !rest.is_empty() {
            if out.len() > 1 {
                out.push_str(", ");
            }
            rest = put_type(&mut out, rest);
        }
        out.push(')');
        out
    }
}

/// Appends the simple name of the first type of a descriptor (JVMS 4.3.2, shared by dex) and
/// returns what follows it.
fn put_type<'a>(out: &mut String, descriptor: &'a str) -> &'a str {
    let element = descriptor.trim_start_matches('[');
    let dimensions = descriptor.len() - element.len();
    let mut chars = element.chars();
    let rest = match chars.next() {
        Some('L') => {
            let (name, rest) = chars
                .as_str()
                .split_once(';')
                .unwrap_or((chars.as_str(), ""));
            out.push_str(name.rsplit('/').next().unwrap_or(name));
            rest
        }
        Some(c) => {
            match c {
                'B' => out.push_str("byte"),
                'C' => out.push_str("char"),
                'D' => out.push_str("double"),
                'F' => out.push_str("float"),
                'I' => out.push_str("int"),
                'J' => out.push_str("long"),
                'S' => out.push_str("short"),
                'Z' => out.push_str("boolean"),
                'V' => out.push_str("void"),
                other => out.push(other),
            }
            chars.as_str()
        }
        None => "",
    };
    for _ in 0..dimensions {
        out.push_str("[]");
    }
    rest
}

/// Writes a map: artifacts, in them types, in them methods, each in the order they are given.
#[derive(Default)]
pub struct Writer {
    payload: Vec<u8>,
    count: u32,
}

impl Writer {
    /// The types that follow come from this artifact.
    pub fn artifact(&mut self, name: &str) {
        self.payload.push(TAG_ARTIFACT);
        self.str(name);
    }

    /// The methods that follow belong to this type.
    pub fn ty(&mut self, name: &str, file: &str) {
        self.payload.push(TAG_TYPE);
        self.str(name);
        self.str(file);
    }

    /// A method of the last type.
    pub fn method(&mut self, id: u32, name: &str, descriptor: &str, line: u32) {
        self.payload.push(TAG_METHOD);
        self.payload.extend_from_slice(&id.to_le_bytes());
        self.str(name);
        self.str(descriptor);
        put_uleb32(&mut self.payload, line);
        self.count += 1;
    }

    fn str(&mut self, s: &str) {
        put_uleb32(&mut self.payload, s.len() as u32);
        self.payload.extend_from_slice(s.as_bytes());
    }

    /// Everything that another writer holds, after what this one holds.
    pub fn append(&mut self, other: &Writer) {
        self.payload.extend_from_slice(&other.payload);
        self.count += other.count;
    }

    /// All of `symbols`, sorted, so that the same map gives the same bytes.
    pub fn symbols(&mut self, symbols: &Symbols) {
        let mut all: Vec<(u32, &Symbol)> = symbols.iter().collect();
        all.sort_unstable_by(|(a_id, a), (b_id, b)| {
            let (x, y) = (&a.method, &b.method);
            (&a.artifact, &a.type_name, &a.file, x, &a.descriptor, a_id).cmp(&(
                &b.artifact,
                &b.type_name,
                &b.file,
                y,
                &b.descriptor,
                b_id,
            ))
        });
        let mut last: Option<&Symbol> = None;
        for (id, symbol) in all {
            let same_artifact = last.is_some_and(|l| l.artifact == symbol.artifact);
            if !same_artifact {
                self.artifact(&symbol.artifact);
            }
            let same_type =
                last.is_some_and(|l| (&l.type_name, &l.file) == (&symbol.type_name, &symbol.file));
            if !same_artifact || !same_type {
                self.ty(&symbol.type_name, &symbol.file);
            }
            self.method(id, &symbol.method, &symbol.descriptor, symbol.line);
            last = Some(symbol);
        }
    }

    /// Whether no method was written.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The finished map: header, then the payload as one raw deflate stream.
    pub fn finish(self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.payload.len() / 3 + 32);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&0u16.to_le_bytes());
        out.extend_from_slice(&self.count.to_le_bytes());
        out.extend_from_slice(&(self.payload.len() as u32).to_le_bytes());
        out.extend_from_slice(&libdeflater::crc32(&self.payload).to_le_bytes());
        let mut deflate =
            libdeflater::Compressor::new(libdeflater::CompressionLvl::new(6).expect("valid level"));
        let at = out.len() + 4;
        out.extend_from_slice(&[0; 4]);
        out.resize(at + deflate.deflate_compress_bound(self.payload.len()), 0);
        let n = deflate
            .deflate_compress(&self.payload, &mut out[at..])
            .expect("the bound holds");
        out.truncate(at + n);
        out[at - 4..at].copy_from_slice(&(n as u32).to_le_bytes());
        out
    }
}

/// Maps ids to what they stand for, over any number of maps.
#[derive(Debug, Default)]
pub struct Symbols {
    by_id: FxHashMap<u32, Symbol>,
}

impl Symbols {
    /// Reads one map and adds it; where an id is known already, the first one stays.
    pub fn add(&mut self, bytes: &[u8]) -> Result<()> {
        let mut header = Cursor::new(bytes);
        if header.take(4)? != MAGIC {
            return Err(Error::malformed(0, "not a symbols map"));
        }
        let version = header.le_u16()?;
        if version != VERSION {
            return Err(Error::new(
                Kind::Unsupported,
                format!("symbols map of version {version}; this weave reads {VERSION}"),
            ));
        }
        header.le_u16()?;
        header.le_u32()?;
        let raw_len = header.le_u32()? as usize;
        let crc = header.le_u32()?;
        let deflated_len = header.le_u32()? as usize;
        let deflated = header.take(deflated_len)?;
        // Deflate cannot expand more than 1032-fold: a larger claim is a lie, told before allocating.
        if raw_len > MAX_PAYLOAD || raw_len / 1032 > deflated.len() + 1 {
            return Err(Error::malformed(
                12,
                "symbols map claims an impossible size",
            ));
        }
        let mut payload = vec![0; raw_len];
        let inflated = libdeflater::Decompressor::new()
            .deflate_decompress(deflated, &mut payload)
            .map_err(|e| Error::malformed(24, format!("symbols map does not inflate: {e}")))?;
        if inflated != raw_len || libdeflater::crc32(&payload) != crc {
            return Err(Error::malformed(24, "symbols map is damaged (CRC-32)"));
        }
        self.read_payload(&payload)
    }

    fn read_payload(&mut self, payload: &[u8]) -> Result<()> {
        fn text<'a>(cursor: &mut Cursor<'a>) -> Result<&'a str> {
            let at = cursor.position();
            let len = cursor.uleb32()? as usize;
            std::str::from_utf8(cursor.take(len)?)
                .map_err(|_| Error::malformed(at, "name in a symbols map is not UTF-8"))
        }
        let mut cursor = Cursor::new(payload);
        // Shared: a short map could otherwise repeat a long name with every method.
        let empty: Arc<str> = "".into();
        let (mut artifact, mut ty, mut file) = (empty.clone(), empty.clone(), empty);
        while cursor.remaining() > 0 {
            let at = cursor.position();
            match cursor.u8()? {
                TAG_ARTIFACT => artifact = text(&mut cursor)?.into(),
                TAG_TYPE => {
                    ty = text(&mut cursor)?.into();
                    file = text(&mut cursor)?.into();
                }
                TAG_METHOD => {
                    let id = cursor.le_u32()?;
                    let symbol = Symbol {
                        artifact: artifact.clone(),
                        type_name: ty.clone(),
                        method: text(&mut cursor)?.into(),
                        descriptor: text(&mut cursor)?.into(),
                        file: file.clone(),
                        line: cursor.uleb32()?,
                    };
                    self.by_id.entry(id).or_insert(symbol);
                }
                tag => {
                    return Err(Error::malformed(
                        at,
                        format!("unknown tag {tag} in a symbols map"),
                    ));
                }
            }
        }
        Ok(())
    }

    /// What an id stands for.
    pub fn get(&self, id: u32) -> Option<&Symbol> {
        self.by_id.get(&id)
    }

    /// A name to show for an id: the method's full name, or the bare id.
    pub fn name(&self, id: u32) -> String {
        match self.get(id) {
            Some(symbol) => symbol.name(),
            None => {
                let mut s = String::new();
                let _ = write!(s, "[{id:#010x}]");
                s
            }
        }
    }

    /// Number of ids known.
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Whether no id is known.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// All ids with their symbols, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Symbol)> {
        self.by_id.iter().map(|(&id, symbol)| (id, symbol))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample() -> Vec<u8> {
        let mut w = Writer::default();
        w.artifact("app.jar");
        w.ty("com/acme/Outer$Inner", "Outer.java");
        w.method(7, "run", "([[ILjava/lang/String;Z)V", 12);
        w.method(9, "<init>", "()V", 0);
        w.finish()
    }

    #[test]
    fn written_maps_read_back() {
        let mut symbols = Symbols::default();
        symbols.add(&sample()).unwrap();
        let run = symbols.get(7).unwrap();
        assert_eq!(run.name(), "com.acme.Outer$Inner.run");
        assert_eq!(run.parameters(), "(int[][], String, boolean)");
        assert_eq!(
            (&*run.artifact, &*run.file, run.line),
            ("app.jar", "Outer.java", 12)
        );
        assert_eq!(symbols.get(9).unwrap().parameters(), "()");
        assert_eq!(symbols.name(1), "[0x00000001]");
        assert_eq!(symbols.len(), 2);
    }

    #[test]
    fn maps_join_and_sort() {
        let mut earlier = Symbols::default();
        earlier.add(&sample()).unwrap();
        let mut fresh = Writer::default();
        fresh.artifact("b.jar");
        fresh.ty("B", "");
        fresh.method(1, "b", "()V", 3);
        let mut all = Writer::default();
        all.append(&fresh);
        all.symbols(&earlier);
        let mut read = Symbols::default();
        read.add(&all.finish()).unwrap();
        assert_eq!(read.len(), 3);
        assert_eq!(&*read.get(1).unwrap().artifact, "b.jar");
        assert_eq!(read.get(7), earlier.get(7));
        assert_eq!(read.get(9), earlier.get(9));
    }

    #[test]
    fn a_lying_size_is_refused_before_it_is_allocated() {
        let mut bytes = sample();
        bytes[12..16].copy_from_slice(&(MAX_PAYLOAD as u32 - 1).to_le_bytes());
        let e = Symbols::default().add(&bytes).unwrap_err();
        assert_eq!(
            e.to_string(),
            "symbols map claims an impossible size (at byte 0xc)"
        );
    }

    proptest! {
        #[test]
        fn damaged_maps_give_errors(at in 0usize..80, value: u8) {
            let mut bytes = sample();
            let at = at % bytes.len();
            bytes[at] = value;
            let _ = Symbols::default().add(&bytes);
            let _ = Symbols::default().add(&bytes[..at]);
        }

        #[test]
        fn any_payload_gives_a_result(payload: Vec<u8>) {
            let _ = Symbols::default().read_payload(&payload);
        }
    }
}
