//! The dex file's frame: header, id tables, map. Read in place, on demand.
//!
//! Section names and numbers are those of the dex format specification ("Dalvik executable format").

use crate::bytes::{Cursor, mutf8, u16_at, u32_at};
use crate::error::{Error, Kind, Result};
use std::borrow::Cow;

/// The first bytes of a dex file (`DEX_FILE_MAGIC` without its version).
pub const MAGIC: &[u8; 4] = b"dex\n";

/// `NO_INDEX`: no value in a field that holds an index.
pub(crate) const NO_INDEX: u32 = 0xffff_ffff;

/// `ENDIAN_CONSTANT`, as it reads in a little-endian file.
const ENDIAN_CONSTANT: u32 = 0x1234_5678;

/// Size of the header up to version 040, and of the one with the container's fields from 041 on.
pub(crate) const HEADER: usize = 0x70;
/// Size of the header from version 041 on.
pub(crate) const HEADER_41: usize = 0x78;

/// Type codes of the map's items.
pub(crate) mod kind {
    pub const HEADER: u16 = 0x0000;
    pub const STRING_ID: u16 = 0x0001;
    pub const TYPE_ID: u16 = 0x0002;
    pub const PROTO_ID: u16 = 0x0003;
    pub const FIELD_ID: u16 = 0x0004;
    pub const METHOD_ID: u16 = 0x0005;
    pub const CLASS_DEF: u16 = 0x0006;
    pub const CALL_SITE_ID: u16 = 0x0007;
    pub const METHOD_HANDLE: u16 = 0x0008;
    pub const MAP_LIST: u16 = 0x1000;
    pub const TYPE_LIST: u16 = 0x1001;
    pub const ANNOTATION_SET_REF_LIST: u16 = 0x1002;
    pub const ANNOTATION_SET: u16 = 0x1003;
    pub const CLASS_DATA: u16 = 0x2000;
    pub const CODE: u16 = 0x2001;
    pub const STRING_DATA: u16 = 0x2002;
    pub const DEBUG_INFO: u16 = 0x2003;
    pub const ANNOTATION: u16 = 0x2004;
    pub const ENCODED_ARRAY: u16 = 0x2005;
    pub const ANNOTATIONS_DIRECTORY: u16 = 0x2006;
    pub const HIDDENAPI: u16 = 0xf000;
}

/// A dex file as it lies on disk: one dex, or from version 041 on a container of several.
pub struct Dex<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) files: Vec<File<'a>>,
}

/// One dex. Offsets count from the start of the container, which is the start of the file.
#[derive(Clone)]
pub(crate) struct File<'a> {
    pub bytes: &'a [u8],
    /// Where its header lies.
    pub start: usize,
    /// Bytes from its header to the next header, or to the end.
    pub size: usize,
    /// 35 for `035`, and so on.
    pub version: u8,
    pub strings: &'a [[u8; 4]],
    pub types: &'a [[u8; 4]],
    pub protos: &'a [[u8; 12]],
    pub fields: &'a [[u8; 8]],
    pub methods: &'a [[u8; 8]],
    pub classes: &'a [[u8; 32]],
    pub call_sites: &'a [[u8; 4]],
    pub method_handles: &'a [[u8; 8]],
    /// The data sections' kinds, in the order in which they lie.
    pub order: Vec<u16>,
    /// The hidden-API section (`hiddenapi_class_data_item`), if there is one.
    pub hidden_api: Option<&'a [u8]>,
}

#[cold]
fn unsupported(what: impl Into<String>) -> Error {
    Error::new(Kind::Unsupported, what)
}

impl<'a> Dex<'a> {
    /// Reads the frame of a dex file or container.
    pub fn parse(bytes: &'a [u8]) -> Result<Dex<'a>> {
        let mut files = Vec::new();
        let mut start = 0;
        loop {
            let file = File::parse(bytes, start)?;
            start += file.size;
            let more = file.version >= 41 && start < file.bytes.len();
            files.push(file);
            if !more {
                return Ok(Dex { bytes, files });
            }
        }
    }

    /// Format versions as they are written in the header (`35` for `035`), one a dex.
    pub fn versions(&self) -> impl Iterator<Item = u8> + '_ {
        self.files.iter().map(|f| f.version)
    }

    /// The name of a type, by its number among those of all files, as the JVM spells it.
    pub fn type_name(&self, ty: u32) -> Result<Cow<'a, str>> {
        let mut number = ty as usize;
        for file in &self.files {
            match file.classes.get(number) {
                Some(row) => return file.type_name(u32_at(row, 0)),
                None => number -= file.classes.len(),
            }
        }
        Err(Error::malformed(0, format!("there is no type {ty}")))
    }
}

/// The version that a header's first 8 bytes say.
fn version(magic: &[u8], start: usize) -> Result<u8> {
    if &magic[..4] != MAGIC || magic[7] != 0 {
        return Err(Error::malformed(
            start,
            "not a dex file: the magic is wrong",
        ));
    }
    match &magic[4..7] {
        b"035" => Ok(35),
        b"037" => Ok(37),
        b"038" => Ok(38),
        b"039" => Ok(39),
        b"040" => Ok(40),
        b"041" => Ok(41),
        v => Err(unsupported(format!(
            "dex version {} is not among 035 and 037 to 041",
            v.escape_ascii()
        ))),
    }
}

/// The container of a dex, which its header tells from version 041 on.
fn container(whole: &[u8], start: usize, size: usize) -> Result<&[u8]> {
    let mut at = Cursor::at(whole, start + HEADER);
    let (container, offset) = (at.le_u32()? as usize, at.le_u32()? as usize);
    if offset != start || container < start + size || container > whole.len() {
        return Err(Error::malformed(
            start + HEADER,
            format!(
                "a container of {container} bytes with a header at {offset:#x}: the header lies at {start:#x}, {} bytes are there",
                whole.len()
            ),
        ));
    }
    Ok(&whole[..container])
}

/// A `field_id_item`: indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldId {
    pub class: u32,
    pub ty: u32,
    pub name: u32,
}

impl FieldId {
    pub fn read(row: &[u8; 8]) -> FieldId {
        FieldId {
            class: u16_at(row, 0).into(),
            ty: u16_at(row, 2).into(),
            name: u32_at(row, 4),
        }
    }
}

/// A `method_id_item`: indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MethodId {
    pub class: u32,
    pub proto: u32,
    pub name: u32,
}

impl MethodId {
    #[inline]
    pub fn read(row: &[u8; 8]) -> MethodId {
        MethodId {
            class: u16_at(row, 0).into(),
            proto: u16_at(row, 2).into(),
            name: u32_at(row, 4),
        }
    }
}

/// A `proto_id_item`: indices, and the offset of the parameters or 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProtoId {
    pub shorty: u32,
    pub returns: u32,
    pub parameters: u32,
}

impl<'a> File<'a> {
    fn parse(whole: &'a [u8], start: usize) -> Result<File<'a>> {
        let mut at = Cursor::at(whole, start);
        let version = version(at.take(8)?, start)?;
        // The checksum and the signature.
        at.take(4 + 20)?;
        let size = at.le_u32()? as usize;
        let header = at.le_u32()? as usize;
        if at.le_u32()? != ENDIAN_CONSTANT {
            return Err(unsupported("the dex file is not little-endian"));
        }
        let least = if version >= 41 { HEADER_41 } else { HEADER };
        if header != least {
            return Err(Error::malformed(
                start + 0x24,
                format!("a header of {header} bytes, {least} wanted"),
            ));
        }
        if size < least || size > whole.len() - start {
            return Err(Error::malformed(
                start + 0x20,
                format!(
                    "the header says {size} bytes, {} are there",
                    whole.len() - start
                ),
            ));
        }
        let bytes = match version {
            41.. => container(whole, start, size)?,
            _ => &whole[..start + size],
        };
        let link = at.le_u32()?;
        at.take(4)?;
        if link != 0 {
            return Err(unsupported("the dex file is statically linked"));
        }
        let map = at.le_u32()? as usize;
        let mut file = File {
            bytes,
            start,
            size,
            version,
            strings: table(bytes, &mut at, "string_ids")?,
            types: table(bytes, &mut at, "type_ids")?,
            protos: table(bytes, &mut at, "proto_ids")?,
            fields: table(bytes, &mut at, "field_ids")?,
            methods: table(bytes, &mut at, "method_ids")?,
            classes: table(bytes, &mut at, "class_defs")?,
            call_sites: &[],
            method_handles: &[],
            order: Vec::new(),
            hidden_api: None,
        };
        for (what, count) in [
            ("type_ids", file.types.len()),
            ("proto_ids", file.protos.len()),
        ] {
            if count > 0xffff {
                return Err(Error::malformed(
                    start,
                    format!("{count} {what}, 65,535 is the limit"),
                ));
            }
        }
        file.map(map)?;
        Ok(file)
    }

    /// Reads the map, the only place that lists call sites, method handles and hidden-API data.
    fn map(&mut self, at: usize) -> Result<()> {
        let mut cursor = Cursor::at(self.bytes, at);
        let count = cursor.le_u32()?;
        let mut data = Vec::new();
        for _ in 0..count {
            let place = cursor.position();
            let kind = cursor.le_u16()?;
            cursor.take(2)?;
            let size = cursor.le_u32()? as usize;
            let offset = cursor.le_u32()? as usize;
            match kind {
                kind::HEADER..=kind::CLASS_DEF | kind::MAP_LIST => {}
                kind::CALL_SITE_ID => {
                    self.call_sites = rows(self.bytes, offset, size, "call_site_ids")?
                }
                kind::METHOD_HANDLE => {
                    self.method_handles = rows(self.bytes, offset, size, "method_handles")?;
                }
                kind::TYPE_LIST
                | kind::ANNOTATION_SET_REF_LIST
                | kind::ANNOTATION_SET
                | kind::CLASS_DATA..=kind::ANNOTATIONS_DIRECTORY => data.push((offset, kind)),
                kind::HIDDENAPI => {
                    let length = Cursor::at(self.bytes, offset).le_u32()? as usize;
                    self.hidden_api = Some(Cursor::at(self.bytes, offset).take(length.max(4))?);
                    data.push((offset, kind));
                }
                _ => {
                    return Err(unsupported(format!(
                        "the map names a section of unknown kind {kind:#06x} (at byte {place:#x})"
                    )));
                }
            }
        }
        data.sort_by_key(|&(offset, _)| offset);
        self.order = data.into_iter().map(|(_, kind)| kind).collect();
        Ok(())
    }

    /// The text of a string, in modified UTF-8.
    #[inline]
    pub fn string(&self, index: u32) -> Result<&'a [u8]> {
        let Some(row) = self.strings.get(index as usize) else {
            return Err(self.no("string", index, self.strings.len()));
        };
        let (text, _) = string_data(self.bytes, u32_at(row, 0) as usize)?;
        Ok(text)
    }

    /// A type's descriptor, in modified UTF-8.
    #[inline]
    pub fn descriptor(&self, ty: u32) -> Result<&'a [u8]> {
        match self.types.get(ty as usize) {
            Some(row) => self.string(u32_at(row, 0)),
            None => Err(self.no("type", ty, self.types.len())),
        }
    }

    /// A type's name as the JVM spells it: `com/acme/Outer$Inner`; arrays and primitives as descriptors.
    pub fn type_name(&self, ty: u32) -> Result<Cow<'a, str>> {
        let descriptor = self.descriptor(ty)?;
        Ok(mutf8(
            descriptor
                .strip_prefix(b"L")
                .and_then(|d| d.strip_suffix(b";"))
                .unwrap_or(descriptor),
        ))
    }

    pub fn field(&self, index: u32) -> Result<FieldId> {
        match self.fields.get(index as usize) {
            Some(row) => Ok(FieldId::read(row)),
            None => Err(self.no("field", index, self.fields.len())),
        }
    }

    #[inline]
    pub fn method(&self, index: u32) -> Result<MethodId> {
        match self.methods.get(index as usize) {
            Some(row) => Ok(MethodId::read(row)),
            None => Err(self.no("method", index, self.methods.len())),
        }
    }

    #[inline]
    pub fn proto(&self, index: u32) -> Result<ProtoId> {
        match self.protos.get(index as usize) {
            Some(row) => Ok(ProtoId {
                shorty: u32_at(row, 0),
                returns: u32_at(row, 4),
                parameters: u32_at(row, 8),
            }),
            None => Err(self.no("proto", index, self.protos.len())),
        }
    }

    /// The `type_list` at an offset: 16-bit type indices. Offset 0 stands for none.
    #[inline]
    pub fn type_list(&self, at: u32) -> Result<&'a [[u8; 2]]> {
        if at == 0 {
            return Ok(&[]);
        }
        let mut cursor = Cursor::at(self.bytes, at as usize);
        let count = cursor.le_u32()? as usize;
        let bytes = cursor.take(count.saturating_mul(2))?;
        Ok(bytes.as_chunks().0)
    }

    /// Appends a proto's descriptor, `(ILjava/lang/String;)V`. JVMS 4.3.3 limits what a method takes to
    /// 255 words and a descriptor to 65,535 bytes; so do the compilers that dex files come from.
    pub fn proto_descriptor(&self, proto: u32, out: &mut String) -> Result<()> {
        let proto = self.proto(proto)?;
        let parameters_at = proto.parameters as usize;
        let parameters = self.type_list(proto.parameters)?;
        let start = out.len();
        out.push('(');
        for row in parameters {
            out.push_str(&mutf8(
                self.descriptor(u32::from(u16::from_le_bytes(*row)))?,
            ));
            if out.len() - start > 0xffff {
                return Err(Error::malformed(
                    parameters_at,
                    "a method's parameters exceed 65,535 bytes",
                ));
            }
        }
        out.push(')');
        out.push_str(&mutf8(self.descriptor(proto.returns)?));
        Ok(())
    }

    /// A method's name and descriptor, for messages.
    pub fn method_label(&self, index: u32) -> String {
        let Ok(MethodId { class, proto, name }) = self.method(index) else {
            return format!("method {index}");
        };
        let mut label = String::new();
        if let Ok(class) = self.type_name(class) {
            label.push_str(&class);
            label.push('.');
        }
        if let Ok(name) = self.string(name) {
            label.push_str(&mutf8(name));
        }
        let _ = self.proto_descriptor(proto, &mut label);
        label
    }

    /// The error for an index beyond its table.
    #[cold]
    pub fn no(&self, what: &str, index: u32, count: usize) -> Error {
        Error::malformed(
            self.start,
            format!("{what} index {index} of a table of {count}"),
        )
    }
}

/// The text of the `string_data_item` at an offset, and the offset behind its terminating NUL.
#[inline]
pub(crate) fn string_data(bytes: &[u8], at: usize) -> Result<(&[u8], usize)> {
    let mut cursor = Cursor::at(bytes, at);
    let units = cursor.uleb32()? as usize;
    let start = cursor.position();
    // A UTF-16 unit takes one byte at least, and no text has a NUL byte inside.
    let ascii_end = start.saturating_add(units);
    let end = match bytes.get(ascii_end) {
        Some(0) => ascii_end,
        Some(_) => match memchr::memchr(0, &bytes[ascii_end..]) {
            Some(more) => ascii_end + more,
            None => return Err(Error::malformed(at, "the string has no end")),
        },
        None => return Err(Error::malformed(at, "the string exceeds the file")),
    };
    Ok((&bytes[start..end], end + 1))
}

/// The table whose size and offset the header's cursor is at.
fn table<'a, const N: usize>(
    bytes: &'a [u8],
    header: &mut Cursor<'_>,
    what: &str,
) -> Result<&'a [[u8; N]]> {
    let count = header.le_u32()? as usize;
    let offset = header.le_u32()? as usize;
    rows(bytes, offset, count, what)
}

fn rows<'a, const N: usize>(
    bytes: &'a [u8],
    offset: usize,
    count: usize,
    what: &str,
) -> Result<&'a [[u8; N]]> {
    if count == 0 {
        return Ok(&[]);
    }
    match Cursor::at(bytes, offset).take(count.saturating_mul(N)) {
        Ok(rows) => Ok(rows.as_chunks().0),
        Err(_) => Err(Error::malformed(
            offset,
            format!("{count} {what} exceed the file"),
        )),
    }
}
