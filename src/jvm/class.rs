//! The structure of a class file (JVMS 4.1): where things lie, nothing decoded.

use crate::aspect::joinpoint::{Described, EachName};
use crate::bytes::{Cursor, mutf8};
use crate::error::{Error, Kind, Result};
use crate::jvm::pool::{Known, Pool, tag};
use rustc_hash::{FxBuildHasher, FxHashSet};
use std::borrow::Cow;
use std::hash::BuildHasher;
use std::ops::Range;
use std::sync::OnceLock;

/// First bytes of every class file.
pub const MAGIC: [u8; 4] = [0xca, 0xfe, 0xba, 0xbe];

/// Access and property flags (JVMS 4.1-B, 4.6-A).
pub mod flag {
    pub const PUBLIC: u16 = 0x0001;
    pub const PRIVATE: u16 = 0x0002;
    pub const PROTECTED: u16 = 0x0004;
    pub const STATIC: u16 = 0x0008;
    pub const FINAL: u16 = 0x0010;
    pub const SYNCHRONIZED: u16 = 0x0020;
    pub const BRIDGE: u16 = 0x0040;
    pub const INTERFACE: u16 = 0x0200;
    pub const VARARGS: u16 = 0x0080;
    pub const ABSTRACT: u16 = 0x0400;
    pub const STRICT: u16 = 0x0800;
    pub const SYNTHETIC: u16 = 0x1000;
    pub const MODULE: u16 = 0x8000;
}

/// A class file whose structure was read and checked; code is not decoded.
pub struct Class<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) pool: Pool<'a>,
    pub(crate) major: u16,
    pub(crate) access: u16,
    this_class: u16,
    pub(crate) methods: Vec<MethodInfo>,
    /// The attributes of the class: their count's offset.
    pub(crate) attributes: usize,
    /// Its bootstrap methods, once somebody asks.
    bootstraps: OnceLock<Bootstraps>,
}

/// A `method_info` in place.
#[derive(Clone, Debug)]
pub struct MethodInfo {
    pub range: Range<usize>,
    pub access: u16,
    pub name: u16,
    pub descriptor: u16,
    /// Where its `Code` attribute lies, header included.
    pub code: Option<Range<usize>>,
}

/// A `Code` attribute taken apart, nothing decoded (JVMS 4.7.3).
#[derive(Clone, Copy)]
pub struct Code<'a> {
    /// Deepest operand stack.
    pub max_stack: u16,
    pub max_locals: u16,
    /// Offset of the instructions in the class file.
    pub offset: usize,
    pub insns: &'a [u8],
    /// The exception table: entries of 8 bytes.
    pub exceptions: &'a [u8],
    /// Offset of the count of attributes in the class file.
    pub attributes: usize,
}

/// An attribute in place.
#[derive(Clone, Copy)]
pub struct Attribute<'a> {
    pub name: u16,
    /// Offset of its first byte, the name's index.
    pub start: usize,
    pub data: &'a [u8],
}

impl Attribute<'_> {
    pub fn offset(&self) -> usize {
        self.start + 6
    }
}

/// The attributes whose count lies at `at`; `each` may fail. Returns the offset behind the last.
pub fn attributes<'a>(
    bytes: &'a [u8],
    at: usize,
    mut each: impl FnMut(Attribute<'a>) -> Result<()>,
) -> Result<usize> {
    let mut cursor = Cursor::at(bytes, at);
    for _ in 0..cursor.be_u16()? {
        let start = cursor.position();
        let name = cursor.be_u16()?;
        let len = cursor.be_u32()? as usize;
        let data = cursor.take(len)?;
        each(Attribute { name, start, data })?;
    }
    Ok(cursor.position())
}

fn hash_of(name: &[u8], descriptor: &[u8]) -> u64 {
    FxBuildHasher.hash_one((name, descriptor))
}

impl Bootstraps {
    /// Whether the class has such a method, and no other code names it.
    pub fn is_body(&self, name: &[u8], descriptor: &[u8]) -> bool {
        self.bodies.contains(&hash_of(name, descriptor))
    }
}

/// What makes functions of methods.
#[derive(Default)]
pub struct Bootstraps {
    /// Where the `BootstrapMethods` attribute lies, if there is one.
    pub start: Option<usize>,
    /// Where each of its entries lies.
    pub entries: Box<[u32]>,
    /// The methods that are private or made by compilers, as the bodies of lambdas are: hashes of their names and descriptors.
    bodies: FxHashSet<u64>,
}

fn bootstraps(class: &Class<'_>) -> Bootstraps {
    let (mut start, mut all) = (None, Vec::new());
    let read = attributes(class.bytes, class.attributes, |a| {
        if class.pool.utf8(a.name)? != b"BootstrapMethods" {
            return Ok(());
        }
        start = Some(a.offset() - 6);
        let mut cursor = Cursor::new(a.data);
        for _ in 0..cursor.be_u16()? {
            all.push((a.offset() + cursor.position()) as u32);
            cursor.be_u16()?;
            let arguments = usize::from(cursor.be_u16()?);
            cursor.take(2 * arguments)?;
        }
        Ok(())
    });
    // Whoever needs what cannot be read reports it.
    if read.is_err() {
        return Bootstraps::default();
    }
    let hidden = (class.methods.iter())
        .filter(|method| method.access & (flag::PRIVATE | flag::SYNTHETIC) != 0);
    let bodies = hidden.filter_map(|method| {
        let name = class.pool.utf8(method.name).ok()?;
        Some(hash_of(name, class.pool.utf8(method.descriptor).ok()?))
    });
    Bootstraps {
        start,
        entries: all.into(),
        bodies: bodies.collect(),
    }
}

/// Name and descriptor of a field.
pub struct FieldNames<'a> {
    pub name: &'a [u8],
    pub descriptor: &'a [u8],
}

impl<'a> Class<'a> {
    /// Name and descriptor of a method, by its number.
    pub fn describe(&self, index: u32) -> Result<Described> {
        let method = &self.methods[index as usize];
        Ok(Described {
            name: self.pool.text(method.name)?.into_owned(),
            descriptor: self.pool.text(method.descriptor)?.into_owned(),
        })
    }

    /// Reads the structure of a class file.
    pub fn parse(bytes: &'a [u8]) -> Result<Class<'a>> {
        let mut cursor = Cursor::new(bytes);
        if cursor.take(4)? != MAGIC {
            return Err(Error::malformed(0, "not a class file"));
        }
        let _minor = cursor.be_u16()?;
        let major = cursor.be_u16()?;
        if major < 45 {
            return Err(Error::new(
                Kind::Unsupported,
                format!("class file version {major}"),
            ));
        }
        let pool = Pool::parse(bytes)?;
        let mut cursor = Cursor::at(bytes, pool.end());
        let access = cursor.be_u16()?;
        let this_class = cursor.be_u16()?;
        pool.class_name(this_class)?;
        let _super_class = cursor.be_u16()?;
        let interfaces = usize::from(cursor.be_u16()?);
        cursor.take(2 * interfaces)?;
        for _ in 0..cursor.be_u16()? {
            cursor.take(6)?;
            cursor = Cursor::at(bytes, attributes(bytes, cursor.position(), |_| Ok(()))?);
        }
        let count = usize::from(cursor.be_u16()?);
        // A method takes at least eight bytes: a larger claim allocates nothing.
        let mut methods = Vec::with_capacity(count.min(cursor.remaining() / 8));
        for _ in 0..count {
            let start = cursor.position();
            let access = cursor.be_u16()?;
            let name = cursor.be_u16()?;
            let descriptor = cursor.be_u16()?;
            let mut code = None;
            let end = attributes(bytes, cursor.position(), |a| {
                if pool.which_is_code(a.name) && code.is_none() {
                    code = Some(a.start..a.offset() + a.data.len());
                }
                Ok(())
            })?;
            pool.utf8(name)?;
            pool.utf8(descriptor)?;
            methods.push(MethodInfo {
                range: start..end,
                access,
                name,
                descriptor,
                code,
            });
            cursor = Cursor::at(bytes, end);
        }
        let class_attributes = cursor.position();
        let end = attributes(bytes, class_attributes, |_| Ok(()))?;
        if end != bytes.len() {
            return Err(Error::malformed(end, "bytes after the end of the class"));
        }
        Ok(Class {
            bytes,
            pool,
            major,
            access,
            this_class,
            methods,
            attributes: class_attributes,
            bootstraps: OnceLock::new(),
        })
    }

    /// The fields that are final.
    pub fn final_fields(&self) -> Result<Vec<FieldNames<'a>>> {
        let mut fields = Vec::new();
        self.each_field(|access, name, descriptor| {
            if access & flag::FINAL != 0 {
                fields.push(FieldNames {
                    name: self.pool.utf8(name)?,
                    descriptor: self.pool.utf8(descriptor)?,
                });
            }
            Ok(())
        })?;
        Ok(fields)
    }

    /// What makes functions of methods.
    pub fn bootstraps(&self) -> &Bootstraps {
        self.bootstraps.get_or_init(|| bootstraps(self))
    }

    /// Its name as it is written.
    pub fn name_bytes(&self) -> Result<&'a [u8]> {
        self.pool.class_name(self.this_class)
    }

    /// Shows flags, name and descriptor of each field.
    pub fn each_field(&self, mut each: impl FnMut(u16, u16, u16) -> Result<()>) -> Result<()> {
        let mut cursor = Cursor::at(self.bytes, self.pool.end() + 6);
        let interfaces = usize::from(cursor.be_u16()?);
        cursor.take(2 * interfaces)?;
        for _ in 0..cursor.be_u16()? {
            let (access, name, descriptor) = (cursor.be_u16()?, cursor.be_u16()?, cursor.be_u16()?);
            each(access, name, descriptor)?;
            let end = attributes(self.bytes, cursor.position(), |_| Ok(()))?;
            cursor = Cursor::at(self.bytes, end);
        }
        Ok(())
    }

    /// Shows each interface: where the class names it, and its `Class` constant.
    pub fn each_interface(&self, mut each: impl FnMut(usize, u16) -> Result<()>) -> Result<()> {
        let mut cursor = Cursor::at(self.bytes, self.pool.end() + 6);
        for _ in 0..cursor.be_u16()? {
            each(cursor.position(), cursor.be_u16()?)?;
        }
        Ok(())
    }

    /// Whether this is a `module-info` (JVMS 4.1).
    pub fn is_module(&self) -> bool {
        self.access & flag::MODULE != 0
    }

    /// Full name in internal form (`java/util/Map$Entry`).
    pub fn name(&self) -> Cow<'a, str> {
        mutf8(
            self.pool
                .class_name(self.this_class)
                .expect("parse checked it"),
        )
    }

    /// Index of the class's own `Class` constant.
    pub(crate) fn this_class(&self) -> u16 {
        self.this_class
    }

    /// The superclass and interfaces that the class names; what cannot be read is left out.
    pub fn supertypes(&self, each: EachName<'_>) {
        let mut cursor = Cursor::at(self.bytes, self.pool.end() + 4);
        let mut next = || cursor.be_u16().unwrap_or(0);
        let superclass = next();
        let interfaces = next();
        for index in std::iter::once(superclass).chain((0..interfaces).map(|_| next())) {
            if let Ok(name) = self.pool.class_name(index) {
                each(&mutf8(name));
            }
        }
    }

    /// The classes that its `Class` constants name; of an array the class of its elements.
    pub fn named_classes(&self) -> Result<Vec<Cow<'a, str>>> {
        let constants = (1..self.pool.count()).filter(|&i| self.pool.tag(i) == Some(tag::CLASS));
        let mut named = Vec::new();
        for index in constants {
            let name = self.pool.class_name(index)?;
            let dimensions = name.iter().take_while(|b| **b == b'[').count();
            let element = &name[dimensions..];
            let element = match element.len() == name.len() {
                true => Some(name),
                false => (element.strip_prefix(b"L")).and_then(|e| e.strip_suffix(b";")),
            };
            named.extend(element.map(mutf8));
        }
        Ok(named)
    }

    /// Source file name, or empty (JVMS 4.7.10).
    pub fn source_file(&self) -> Cow<'a, str> {
        let mut file = Cow::Borrowed("");
        // The walk succeeded when the class was parsed.
        let _ = attributes(self.bytes, self.attributes, |a| {
            if self.pool.which(a.name) == Some(Known::SourceFile)
                && let Ok(&[hi, lo]) = <&[u8; 2]>::try_from(a.data)
            {
                file = self.pool.text(u16::from_be_bytes([hi, lo]))?;
            }
            Ok(())
        });
        file
    }

    /// Whether the class calls the hook library.
    pub fn is_woven(&self) -> bool {
        let hooks = self.pool.known(Known::Hooks);
        hooks != 0 && self.pool.class_named(hooks).is_some()
    }

    /// Name and descriptor of a method.
    pub fn method_label(&self, method: &MethodInfo) -> String {
        let text = |index| self.pool.text(index).unwrap_or(Cow::Borrowed("?"));
        format!("{}{}", text(method.name), text(method.descriptor))
    }

    /// Takes a method's `Code` attribute apart.
    pub fn code(&self, method: &MethodInfo) -> Result<Option<Code<'a>>> {
        let Some(range) = &method.code else {
            return Ok(None);
        };
        let end = range.end;
        let mut cursor = Cursor::at(&self.bytes[..end], range.start + 6);
        let max_stack = cursor.be_u16()?;
        let max_locals = cursor.be_u16()?;
        let len = cursor.be_u32()? as usize;
        let offset = cursor.position();
        if len == 0 || len > 65_535 {
            return Err(Error::malformed(offset - 4, format!("code of {len} bytes")));
        }
        let insns = cursor.take(len)?;
        let entries = usize::from(cursor.be_u16()?);
        let exceptions = cursor.take(8 * entries)?;
        let attributes = cursor.position();
        Ok(Some(Code {
            max_stack,
            max_locals,
            offset,
            insns,
            exceptions,
            attributes,
        }))
    }
}

impl Pool<'_> {
    /// Whether a name is `Code`: asked of every attribute of every method.
    #[inline]
    fn which_is_code(&self, name: u16) -> bool {
        name != 0
            && (name == self.known(Known::Code)
                || self.utf8(name).is_ok_and(|text| text == b"Code"))
    }
}
