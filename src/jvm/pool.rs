//! The constant pool (JVMS 4.4): read in place, extended at its end.
//!
//! Existing indices never change, so everything that is copied stays valid.

use crate::bytes::{Cursor, mutf8};
use crate::error::{Error, Result};
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::borrow::Cow;
use std::hash::BuildHasher;
use std::ops::Range;

/// Tags of constants (JVMS 4.4, table 4.4-B).
pub mod tag {
    pub const UTF8: u8 = 1;
    pub const INTEGER: u8 = 3;
    pub const FLOAT: u8 = 4;
    pub const LONG: u8 = 5;
    pub const DOUBLE: u8 = 6;
    pub const CLASS: u8 = 7;
    pub const STRING: u8 = 8;
    pub const FIELDREF: u8 = 9;
    pub const METHODREF: u8 = 10;
    pub const INTERFACE_METHODREF: u8 = 11;
    pub const NAME_AND_TYPE: u8 = 12;
    pub const METHOD_HANDLE: u8 = 15;
    pub const METHOD_TYPE: u8 = 16;
    pub const DYNAMIC: u8 = 17;
    pub const INVOKE_DYNAMIC: u8 = 18;
    pub const MODULE: u8 = 19;
    pub const PACKAGE: u8 = 20;
}

/// The `Utf8` constants that the weaver knows by heart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Known {
    Code,
    StackMapTable,
    LineNumberTable,
    LocalVariableTable,
    LocalVariableTypeTable,
    RuntimeVisibleTypeAnnotations,
    RuntimeInvisibleTypeAnnotations,
    RuntimeVisibleAnnotations,
    RuntimeInvisibleAnnotations,
    SourceFile,
    Throwable,
    IntVoid,
    Hooks,
    OnMethodEnter,
    OnMethodExit,
    KotlinMetadata,
}

const KNOWN: [(&[u8], Known); 16] = [
    (b"Code", Known::Code),
    (b"StackMapTable", Known::StackMapTable),
    (b"LineNumberTable", Known::LineNumberTable),
    (b"LocalVariableTable", Known::LocalVariableTable),
    (b"LocalVariableTypeTable", Known::LocalVariableTypeTable),
    (
        b"RuntimeVisibleTypeAnnotations",
        Known::RuntimeVisibleTypeAnnotations,
    ),
    (
        b"RuntimeInvisibleTypeAnnotations",
        Known::RuntimeInvisibleTypeAnnotations,
    ),
    (
        b"RuntimeVisibleAnnotations",
        Known::RuntimeVisibleAnnotations,
    ),
    (
        b"RuntimeInvisibleAnnotations",
        Known::RuntimeInvisibleAnnotations,
    ),
    (b"SourceFile", Known::SourceFile),
    (b"java/lang/Throwable", Known::Throwable),
    (b"(I)V", Known::IntVoid),
    (HOOKS_CLASS.as_bytes(), Known::Hooks),
    (
        b"Lnet/bytebuddy/asm/Advice$OnMethodEnter;",
        Known::OnMethodEnter,
    ),
    (
        b"Lnet/bytebuddy/asm/Advice$OnMethodExit;",
        Known::OnMethodExit,
    ),
    (b"Lkotlin/Metadata;", Known::KotlinMetadata),
];

/// The class of the hook library that woven code calls, in internal form.
pub const HOOKS_CLASS: &str = "weave/runtime/Hooks";

/// Lengths of known names, as bits, which rule out most constants.
const KNOWN_LENGTHS: u64 = {
    let mut bits = 0;
    let mut i = 0;
    while i < KNOWN.len() {
        bits |= 1 << KNOWN[i].0.len();
        i += 1;
    }
    bits
};

/// A constant pool in the bytes of its class file.
pub struct Pool<'a> {
    bytes: &'a [u8],
    /// Offset of each constant's tag; 0 for index 0 and the second half of a long or double.
    offsets: Vec<u32>,
    known: [u16; KNOWN.len()],
    end: usize,
}

impl<'a> Pool<'a> {
    /// Reads the pool whose count lies at offset 8 of a class file.
    pub fn parse(bytes: &'a [u8]) -> Result<Pool<'a>> {
        let count = Cursor::at(bytes, 8).be_u16()?;
        if count == 0 {
            return Err(Error::malformed(8, "constant pool count is 0"));
        }
        let mut offsets = Vec::with_capacity(usize::from(count));
        offsets.push(0);
        let mut known = [0; KNOWN.len()];
        let mut at = 10usize;
        while offsets.len() < usize::from(count) {
            let Some(&constant) = bytes.get(at) else {
                return Err(Error::malformed(at, "constant pool is cut off"));
            };
            let len = match constant {
                tag::UTF8 => {
                    let Some(&[hi, lo]) = bytes.get(at + 1..at + 3) else {
                        return Err(Error::malformed(at, "constant pool is cut off"));
                    };
                    let len = usize::from(u16::from_be_bytes([hi, lo]));
                    if len < 64 && KNOWN_LENGTHS >> len & 1 != 0 {
                        note_known(&mut known, bytes, at + 3, len, offsets.len() as u16);
                    }
                    3 + len
                }
                tag::CLASS | tag::STRING | tag::METHOD_TYPE | tag::MODULE | tag::PACKAGE => 3,
                tag::METHOD_HANDLE => 4,
                tag::INTEGER
                | tag::FLOAT
                | tag::FIELDREF..=tag::NAME_AND_TYPE
                | tag::DYNAMIC
                | tag::INVOKE_DYNAMIC => 5,
                tag::LONG | tag::DOUBLE => 9,
                other => {
                    return Err(Error::malformed(
                        at,
                        format!("constant of unknown tag {other}"),
                    ));
                }
            };
            offsets.push(at as u32);
            if constant == tag::LONG || constant == tag::DOUBLE {
                offsets.push(0);
            }
            at += len;
        }
        if at > bytes.len() || offsets.len() > usize::from(count) {
            return Err(Error::malformed(
                at.min(bytes.len()),
                "constant pool is cut off",
            ));
        }
        Ok(Pool {
            bytes,
            offsets,
            known,
            end: at,
        })
    }

    /// Number of entries plus one, as the class file counts.
    pub fn count(&self) -> u16 {
        self.offsets.len() as u16
    }

    /// Offset of the first byte behind the pool.
    pub fn end(&self) -> usize {
        self.end
    }

    /// Index of a known `Utf8`, or 0.
    pub fn known(&self, known: Known) -> u16 {
        self.known[known as usize]
    }

    /// Which known `Utf8` an index is, if any. A class file may hold the same text twice, so the
    /// bytes decide, not the index.
    pub fn which(&self, index: u16) -> Option<Known> {
        if index == 0 {
            return None;
        }
        if let Some(i) = self.known.iter().position(|&k| k == index) {
            return Some(KNOWN[i].1);
        }
        let text = self.utf8(index).ok()?;
        KNOWN
            .iter()
            .find(|(name, _)| *name == text)
            .map(|&(_, known)| known)
    }

    fn constant(&self, index: u16, wanted: u8, what: &str) -> Result<Cursor<'a>> {
        let at = match self.offsets.get(usize::from(index)) {
            Some(&at) if at != 0 => at as usize,
            _ => return Err(self.bad_index(index, what)),
        };
        if self.bytes[at] != wanted {
            return Err(self.bad_index(index, what));
        }
        Ok(Cursor::at(self.bytes, at + 1))
    }

    #[cold]
    fn bad_index(&self, index: u16, what: &str) -> Error {
        let at = self.offsets.get(usize::from(index)).copied().unwrap_or(8);
        Error::malformed(at as usize, format!("constant {index} is not a {what}"))
    }

    /// Offset of a constant's tag and the tag, if there is such a constant.
    pub fn tag(&self, index: u16) -> Option<u8> {
        match self.offsets.get(usize::from(index)) {
            Some(&at) if at != 0 => Some(self.bytes[at as usize]),
            _ => None,
        }
    }

    /// The bytes of a `Utf8`.
    pub fn utf8(&self, index: u16) -> Result<&'a [u8]> {
        let mut cursor = self.constant(index, tag::UTF8, "Utf8")?;
        let len = cursor.be_u16()?;
        cursor.take(usize::from(len))
    }

    /// A `Utf8` as text.
    pub fn text(&self, index: u16) -> Result<Cow<'a, str>> {
        Ok(mutf8(self.utf8(index)?))
    }

    /// The name of a `Class`, in internal form, as bytes.
    pub fn class_name(&self, index: u16) -> Result<&'a [u8]> {
        let name = self.constant(index, tag::CLASS, "Class")?.be_u16()?;
        self.utf8(name)
    }

    /// The value of an `Integer`.
    pub fn integer(&self, index: u16) -> Result<u32> {
        self.constant(index, tag::INTEGER, "Integer")?.be_u32()
    }

    /// The tag of an `Integer`, `Float`, `Long` or `Double`, and what follows it.
    pub fn number(&self, index: u16) -> Option<(u8, &'a [u8])> {
        let tag = self.tag(index)?;
        let len = match tag {
            tag::INTEGER | tag::FLOAT => 4,
            tag::LONG | tag::DOUBLE => 8,
            _ => return None,
        };
        let at = self.offsets[usize::from(index)] as usize + 1;
        Some((tag, self.bytes.get(at..at + len)?))
    }

    /// The text of a `String`.
    pub fn string(&self, index: u16) -> Result<&'a [u8]> {
        let text = self.constant(index, tag::STRING, "String")?.be_u16()?;
        self.utf8(text)
    }

    /// The member that a `MethodHandle` is of.
    pub fn method_handle(&self, index: u16) -> Result<u16> {
        let mut cursor = self.constant(index, tag::METHOD_HANDLE, "MethodHandle")?;
        cursor.u8()?;
        cursor.be_u16()
    }

    /// What a `MethodHandle` does with its member.
    pub fn handle_kind(&self, index: u16) -> Result<u8> {
        self.constant(index, tag::METHOD_HANDLE, "MethodHandle")?
            .u8()
    }

    /// The `NameAndType` of an `InvokeDynamic`.
    pub fn name_and_type(&self, index: u16) -> Result<u16> {
        let mut cursor = self.constant(index, tag::INVOKE_DYNAMIC, "InvokeDynamic")?;
        cursor.be_u16()?;
        cursor.be_u16()
    }

    /// The name of a `Module`.
    pub fn module_name(&self, index: u16) -> Result<&'a [u8]> {
        let name = self.constant(index, tag::MODULE, "Module")?.be_u16()?;
        self.utf8(name)
    }

    /// The name of a `Package`.
    pub fn package_name(&self, index: u16) -> Result<&'a [u8]> {
        let name = self.constant(index, tag::PACKAGE, "Package")?.be_u16()?;
        self.utf8(name)
    }

    /// A `Fieldref`, `Methodref`, `InterfaceMethodref`, `InvokeDynamic` or `Dynamic`.
    pub fn member(&self, index: u16) -> Result<MemberRef<'a>> {
        let what = "reference to a member";
        let at = match self.tag(index) {
            Some(
                t @ (tag::FIELDREF
                | tag::METHODREF
                | tag::INTERFACE_METHODREF
                | tag::INVOKE_DYNAMIC
                | tag::DYNAMIC),
            ) => self.constant(index, t, what),
            _ => Err(self.bad_index(index, what)),
        };
        let mut cursor = at?;
        let owner = cursor.be_u16()?;
        let mut pair = self.constant(cursor.be_u16()?, tag::NAME_AND_TYPE, "NameAndType")?;
        Ok(MemberRef {
            owner,
            name: self.utf8(pair.be_u16()?)?,
            descriptor: self.utf8(pair.be_u16()?)?,
        })
    }

    /// Whether some `Class` constant has the `Utf8` at this index for its name.
    pub fn class_named(&self, utf8: u16) -> Option<u16> {
        (1..self.count()).find(|&i| {
            let at = self.offsets[usize::from(i)] as usize;
            at != 0
                && self.bytes[at] == tag::CLASS
                && self.bytes[at + 1..at + 3] == utf8.to_be_bytes()
        })
    }
}

/// Remembers the index of a `Utf8` if its text is a known one.
fn note_known(known: &mut [u16; KNOWN.len()], bytes: &[u8], at: usize, len: usize, index: u16) {
    let Some(text) = bytes.get(at..at + len) else {
        return;
    };
    if let Some(i) = KNOWN.iter().position(|(name, _)| *name == text) {
        known[i] = index;
    }
}

/// What a constant says of a member.
#[derive(Clone, Copy, Debug)]
pub struct MemberRef<'a> {
    /// The index of its class, or of its bootstrap method.
    pub owner: u16,
    pub name: &'a [u8],
    pub descriptor: &'a [u8],
}

/// How far [`Additions`] were.
#[derive(Clone, Copy)]
pub struct Mark {
    len: usize,
    next: u16,
}

/// Constants to append to a pool.
#[derive(Default)]
pub struct Additions {
    bytes: Vec<u8>,
    next: u16,
    /// The pool's classes by the hashes of their names, made on demand.
    classes: FxHashMap<u64, u16>,
    /// The classes that were appended: where their names lie, and their indices.
    added: Vec<(Range<usize>, u16)>,
    /// Constants by their bytes, of those that may be asked for again.
    shared: FxHashMap<Box<[u8]>, u16>,
}

impl Additions {
    /// Starts behind a pool; keeps the memory.
    pub fn reset(&mut self, pool: &Pool<'_>) {
        self.bytes.clear();
        self.next = pool.count();
        self.classes.clear();
        self.added.clear();
        self.shared.clear();
    }

    /// Those of a class that has no others.
    pub fn fresh() -> Additions {
        Additions {
            next: 1,
            ..Additions::default()
        }
    }

    /// How many constants still fit (JVMS 4.1: the count is at most 65,535).
    pub fn room(&self) -> u16 {
        u16::MAX - self.next
    }

    /// The pool's count with the additions.
    pub fn count(&self) -> u16 {
        self.next
    }

    /// The appended constants.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn add(&mut self, tag: u8, data: &[&[u8]]) -> u16 {
        assert!(self.next < u16::MAX, "the caller asked for room");
        self.bytes.push(tag);
        for part in data {
            self.bytes.extend_from_slice(part);
        }
        self.next += 1;
        self.next - 1
    }

    /// The current end, for [`rollback`](Additions::rollback).
    pub fn mark(&self) -> Mark {
        Mark {
            len: self.bytes.len(),
            next: self.next,
        }
    }

    /// Removes the additions since a mark.
    pub fn rollback(&mut self, Mark { len, next }: Mark) {
        self.bytes.truncate(len);
        self.next = next;
        self.added.retain(|&(_, index)| index < next);
        self.shared.retain(|_, index| *index < next);
    }

    /// The constant of these bytes, appended where it was not asked for before.
    pub fn shared(&mut self, tag: u8, data: &[u8]) -> u16 {
        let whole = [&[tag], data].concat();
        if let Some(&index) = self.shared.get(&*whole) {
            return index;
        }
        let index = self.add(tag, &[data]);
        if matches!(tag, tag::LONG | tag::DOUBLE) {
            // They take two entries (JVMS 4.4.5).
            assert!(self.next < u16::MAX, "the caller asked for room");
            self.next += 1;
        }
        self.shared.insert(whole.into(), index);
        index
    }

    /// The `Utf8` of modified UTF-8, shared.
    pub fn shared_utf8(&mut self, text: &[u8]) -> u16 {
        let data = [&(text.len() as u16).to_be_bytes(), text].concat();
        self.shared(tag::UTF8, &data)
    }

    /// The `Methodref` or `InterfaceMethodref`, shared, with what it takes: 3 names at most, a class, a pair, and itself.
    pub fn shared_method(&mut self, tag: u8, class: u16, name: &[u8], descriptor: &[u8]) -> u16 {
        let pair = |first: u16, second: u16| [first.to_be_bytes(), second.to_be_bytes()].concat();
        let (name, descriptor) = (self.shared_utf8(name), self.shared_utf8(descriptor));
        let named = self.shared(tag::NAME_AND_TYPE, &pair(name, descriptor));
        self.shared(tag, &pair(class, named))
    }

    /// Appends a `Utf8`.
    pub fn utf8(&mut self, text: &str) -> u16 {
        self.utf8_bytes(text.as_bytes())
    }

    /// Appends a `Utf8` of modified UTF-8 taken from a class file.
    pub fn utf8_bytes(&mut self, text: &[u8]) -> u16 {
        self.add(tag::UTF8, &[&(text.len() as u16).to_be_bytes(), text])
    }

    /// Appends a `Class`, `String`, `Module` or `Package`.
    pub fn named(&mut self, tag: u8, name: u16) -> u16 {
        self.add(tag, &[&name.to_be_bytes()])
    }

    /// The `Class` of this name, appended where there is none.
    pub fn class(&mut self, pool: &Pool<'_>, name: &[u8]) -> u16 {
        let hash = |name: &[u8]| FxBuildHasher.hash_one(name);
        if self.classes.is_empty() {
            let named = |index| Some((hash(pool.class_name(index).ok()?), index));
            let classes = (1..pool.count()).filter(|&i| pool.tag(i) == Some(tag::CLASS));
            self.classes.extend(classes.filter_map(named));
        }
        if let Some(&index) = self.classes.get(&hash(name))
            && pool.class_name(index).is_ok_and(|known| known == name)
        {
            return index;
        }
        let known = self
            .added
            .iter()
            .find(|(at, _)| self.bytes[at.clone()] == *name);
        if let Some(&(_, index)) = known {
            return index;
        }
        let utf8 = self.utf8_bytes(name);
        let end = self.bytes.len();
        let index = self.named(tag::CLASS, utf8);
        self.added.push((end - name.len()..end, index));
        index
    }

    /// Appends an `Integer`.
    pub fn integer(&mut self, value: u32) -> u16 {
        self.add(tag::INTEGER, &[&value.to_be_bytes()])
    }

    /// Appends a `Methodref` and what it takes.
    pub fn method(&mut self, class: u16, name: &str, descriptor: &str) -> u16 {
        let (name, descriptor) = (self.utf8(name), self.utf8(descriptor));
        let pair = self.pair(tag::NAME_AND_TYPE, name, descriptor);
        self.pair(tag::METHODREF, class, pair)
    }

    /// Appends a `NameAndType` or `Methodref`.
    pub fn pair(&mut self, tag: u8, first: u16, second: u16) -> u16 {
        self.add(tag, &[&first.to_be_bytes(), &second.to_be_bytes()])
    }
}
