//! Signatures (ECMA-335 II.23.2): taken apart, and as readable type names.

use crate::bytes;
use crate::cil::image::Image;
use crate::cil::metadata::heaps::compressed;
use crate::cil::metadata::schema::{coded, column, table};
use crate::cil::metadata::tables::{decode, token_row, token_table};
use crate::error::{Error, Kind, Result};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Element types (II.23.1.16).
pub mod element {
    #![allow(missing_docs)]
    pub const VOID: u8 = 0x01;
    pub const BOOLEAN: u8 = 0x02;
    pub const I4: u8 = 0x08;
    pub const I8: u8 = 0x0a;
    pub const STRING: u8 = 0x0e;
    pub const PTR: u8 = 0x0f;
    pub const BYREF: u8 = 0x10;
    pub const VALUETYPE: u8 = 0x11;
    pub const CLASS: u8 = 0x12;
    pub const VAR: u8 = 0x13;
    pub const ARRAY: u8 = 0x14;
    pub const GENERICINST: u8 = 0x15;
    pub const TYPEDBYREF: u8 = 0x16;
    pub const I: u8 = 0x18;
    pub const U: u8 = 0x19;
    pub const FNPTR: u8 = 0x1b;
    pub const OBJECT: u8 = 0x1c;
    pub const SZARRAY: u8 = 0x1d;
    pub const MVAR: u8 = 0x1e;
    pub const CMOD_REQD: u8 = 0x1f;
    pub const CMOD_OPT: u8 = 0x20;
    pub const SENTINEL: u8 = 0x41;
    pub const PINNED: u8 = 0x45;
}

/// First bytes of signatures (II.23.2.1 to II.23.2.6).
pub mod kind {
    #![allow(missing_docs)]
    pub const FIELD: u8 = 0x06;
    pub const LOCALS: u8 = 0x07;
    pub const GENERIC: u8 = 0x10;
    pub const HAS_THIS: u8 = 0x20;
    pub const EXPLICIT_THIS: u8 = 0x40;
}

/// Deepest nesting of a type.
const MAX_DEPTH: u32 = 64;

/// Most parts of one signature, and most bytes of its text. Real ones stay far below; types that
/// name each other over and over could be as long as one likes.
const MAX_PARTS: u32 = 10_000;
const MAX_TEXT: usize = 1 << 16;

#[cold]
fn wrong(what: &str) -> Error {
    Error::new(Kind::Malformed, what)
}

/// A position in a signature.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// A reader at the first byte.
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { rest: bytes }
    }

    /// What is left.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    fn u8(&mut self) -> Result<u8> {
        let (&first, rest) = self
            .rest
            .split_first()
            .ok_or_else(|| wrong("signature cut short"))?;
        self.rest = rest;
        Ok(first)
    }

    /// A compressed number.
    pub fn number(&mut self) -> Result<u32> {
        let (value, size) = compressed(self.rest).ok_or_else(|| wrong("signature cut short"))?;
        self.rest = &self.rest[size..];
        Ok(value)
    }

    /// A `TypeDefOrRef` as a token.
    fn type_token(&mut self) -> Result<u32> {
        decode(&coded::TYPE_DEF_OR_REF, self.number()?)
    }

    /// Steps over one type, its modifiers included, and returns its bytes.
    pub fn skip_type(&mut self) -> Result<&'a [u8]> {
        let whole = self.rest;
        let mut parts = 0;
        self.skip(0, &mut parts)?;
        Ok(&whole[..whole.len() - self.rest.len()])
    }

    fn skip(&mut self, depth: u32, parts: &mut u32) -> Result<()> {
        *parts += 1;
        if depth > MAX_DEPTH || *parts > MAX_PARTS {
            return Err(wrong("a type nested too deeply"));
        }
        match self.u8()? {
            element::PTR
            | element::BYREF
            | element::SZARRAY
            | element::PINNED
            | element::SENTINEL => self.skip(depth + 1, parts),
            element::VALUETYPE | element::CLASS | element::VAR | element::MVAR => {
                self.number().map(drop)
            }
            element::CMOD_REQD | element::CMOD_OPT => {
                self.number()?;
                self.skip(depth + 1, parts)
            }
            element::ARRAY => {
                self.skip(depth + 1, parts)?;
                self.skip_array_shape().map(drop)
            }
            element::GENERICINST => {
                self.u8()?;
                self.number()?;
                for _ in 0..self.number()? {
                    self.skip(depth + 1, parts)?;
                }
                Ok(())
            }
            element::FNPTR => {
                if self.u8()? & kind::GENERIC != 0 {
                    self.number()?;
                }
                for _ in 0..=self.number()? {
                    self.skip(depth + 1, parts)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The rank of an array.
    fn skip_array_shape(&mut self) -> Result<u32> {
        let rank = self.number()?;
        for _ in 0..2 {
            for _ in 0..self.number()? {
                self.number()?;
            }
        }
        Ok(rank)
    }
}

/// A method's signature taken apart.
#[derive(Clone, Copy, Debug)]
pub struct MethodSignature<'a> {
    /// The first byte: calling convention and whether there is a `this`.
    pub flags: u8,
    /// Number of the method's own type parameters.
    pub generics: u32,
    /// Number of parameters.
    pub count: u32,
    /// The return type, its modifiers included.
    pub returns: &'a [u8],
    /// The types of the parameters.
    pub parameters: &'a [u8],
}

impl<'a> MethodSignature<'a> {
    /// Takes a `MethodDefSig` or `MethodRefSig` apart.
    pub fn parse(blob: &'a [u8]) -> Result<MethodSignature<'a>> {
        let mut reader = Reader::new(blob);
        let flags = reader.u8()?;
        let generics = if flags & kind::GENERIC != 0 {
            reader.number()?
        } else {
            0
        };
        let count = reader.number()?;
        let returns = reader.skip_type()?;
        Ok(MethodSignature {
            flags,
            generics,
            count,
            returns,
            parameters: reader.rest,
        })
    }

    /// Whether nothing is returned; a modified `void` (`init` setters) is void, too.
    pub fn is_void(&self) -> bool {
        without_modifiers(self.returns).first() == Some(&element::VOID)
    }
}

/// A type without the custom modifiers in front of it.
pub fn without_modifiers(mut ty: &[u8]) -> &[u8] {
    while let [element::CMOD_REQD | element::CMOD_OPT, rest @ ..] = ty {
        match compressed(rest) {
            Some((_, size)) => ty = &rest[size..],
            None => return &[],
        }
    }
    ty
}

/// Writes types as text.
struct Names<'o, 'i, 'a> {
    image: &'i Image<'a>,
    out: &'o mut String,
    start: usize,
    parts: u32,
    /// Whether the image's names of types are made.
    known: bool,
    /// Takes the names of types, to which the text refers then.
    shared: Option<&'o mut SharedNames>,
    /// Bytes of the names that it refers to.
    referred: usize,
}

/// The names of types, by their tokens, that several signatures refer to.
#[derive(Default)]
struct SharedNames {
    names: bytes::Names,
    /// Numbers by tokens; those without their arity by the tokens' complements.
    numbers: FxHashMap<u32, u32>,
}

impl SharedNames {
    fn number(&mut self, image: &Image<'_>, token: u32, has_arity: bool) -> Result<u32> {
        let key = if has_arity { token } else { !token };
        if let Some(&number) = self.numbers.get(&key) {
            return Ok(number);
        }
        let number = self.names.add(|out| {
            let mut names = Names {
                image,
                start: out.len(),
                parts: 0,
                known: true,
                shared: None,
                referred: 0,
                out,
            };
            names.token(token, 0)?;
            if !has_arity {
                names.drop_arity();
            }
            Ok(())
        })?;
        self.numbers.insert(key, number);
        Ok(number)
    }
}

/// The namespaces and names of the element types that stand for themselves.
fn primitive(element: u8) -> Option<&'static str> {
    const FIRST: [&str; 14] = [
        "System.Void",
        "System.Boolean",
        "System.Char",
        "System.SByte",
        "System.Byte",
        "System.Int16",
        "System.UInt16",
        "System.Int32",
        "System.UInt32",
        "System.Int64",
        "System.UInt64",
        "System.Single",
        "System.Double",
        "System.String",
    ];
    match element {
        element::VOID..=element::STRING => Some(FIRST[usize::from(element - 1)]),
        element::TYPEDBYREF => Some("System.TypedReference"),
        element::I => Some("System.IntPtr"),
        element::U => Some("System.UIntPtr"),
        element::OBJECT => Some("System.Object"),
        _ => None,
    }
}

impl Names<'_, '_, '_> {
    fn step(&mut self, depth: u32) -> Result<()> {
        self.parts += 1;
        let text = self.out.len() - self.start + self.referred;
        if depth > MAX_DEPTH || self.parts > MAX_PARTS || text > MAX_TEXT {
            return Err(wrong("a type nested too deeply"));
        }
        Ok(())
    }

    /// A type of a signature.
    fn ty(&mut self, reader: &mut Reader<'_>, depth: u32) -> Result<()> {
        self.step(depth)?;
        let element = reader.u8()?;
        if let Some(name) = primitive(element) {
            self.out.push_str(name);
            return Ok(());
        }
        match element {
            element::PTR | element::BYREF | element::SZARRAY => {
                self.ty(reader, depth + 1)?;
                self.out.push_str(match element {
                    element::PTR => "*",
                    element::BYREF => "&",
                    _ => "[]",
                });
            }
            element::PINNED | element::SENTINEL => self.ty(reader, depth + 1)?,
            element::CMOD_REQD | element::CMOD_OPT => {
                reader.number()?;
                self.ty(reader, depth + 1)?;
            }
            element::VALUETYPE | element::CLASS => {
                let token = reader.type_token()?;
                self.token(token, depth + 1)?;
            }
            element::VAR | element::MVAR => {
                use std::fmt::Write;
                let mark = if element == element::VAR { "!" } else { "!!" };
                let number = reader.number()?;
                write!(self.out, "{mark}{number}").expect("a string takes all");
            }
            element::ARRAY => {
                self.ty(reader, depth + 1)?;
                let rank = reader.skip_array_shape()?;
                self.out.push('[');
                // No array has more than 32 dimensions.
                for _ in 1..rank.min(32) {
                    self.out.push(',');
                }
                self.out.push(']');
            }
            element::GENERICINST => {
                reader.u8()?;
                let token = reader.type_token()?;
                if !self.refer(token, false)? {
                    self.token(token, depth + 1)?;
                    self.drop_arity();
                }
                self.out.push('<');
                for i in 0..reader.number()? {
                    if i > 0 {
                        self.out.push(',');
                    }
                    self.ty(reader, depth + 1)?;
                }
                self.out.push('>');
            }
            element::FNPTR => {
                self.out.push_str("method");
                self.method(reader, depth + 1)?;
            }
            _ => return Err(wrong("unknown type in a signature")),
        }
        Ok(())
    }

    /// The arguments tell how many there are.
    fn drop_arity(&mut self) {
        let digits = self.out.len()
            - self
                .out
                .trim_end_matches(|c: char| c.is_ascii_digit())
                .len();
        let at = self.out.len() - digits;
        if digits > 0 && at > self.start && self.out.as_bytes()[at - 1] == b'`' {
            self.out.truncate(at - 1);
        }
    }

    /// Parameters and return type of a method's signature (a blob).
    fn descriptor(&mut self, signature: u32) -> Result<()> {
        let blob = self.image.metadata.blobs.get(signature)?;
        self.method(&mut Reader::new(blob), 0)
    }

    /// Parameters and return type.
    fn method(&mut self, reader: &mut Reader<'_>, depth: u32) -> Result<()> {
        if reader.u8()? & kind::GENERIC != 0 {
            reader.number()?;
        }
        let count = reader.number()?;
        let mut returns = *reader;
        reader.skip_type()?;
        self.out.push('(');
        for i in 0..count {
            if i > 0 {
                self.out.push_str(", ");
            }
            self.ty(reader, depth)?;
        }
        self.out.push(')');
        self.ty(&mut returns, depth)
    }

    /// Refers to a type instead of naming it, if names are shared.
    fn refer(&mut self, token: u32, has_arity: bool) -> Result<bool> {
        let is_named = matches!(token_table(token), table::TYPE_DEF | table::TYPE_REF);
        let Some(shared) = self.shared.as_deref_mut().filter(|_| is_named) else {
            return Ok(false);
        };
        let number = shared.number(self.image, token, has_arity)?;
        self.referred += shared.names.get(number).map_or(0, str::len);
        bytes::Names::refer(number, self.out);
        match self.referred > MAX_TEXT {
            true => Err(wrong("a type nested too deeply")),
            false => Ok(true),
        }
    }

    /// A `TypeDef`, `TypeRef` or `TypeSpec`.
    fn token(&mut self, token: u32, depth: u32) -> Result<()> {
        self.step(depth)?;
        if self.refer(token, true)? {
            return Ok(());
        }
        if self.known
            && let Some(name) = self.image.types().name(token)
        {
            self.out.push_str(name);
            return Ok(());
        }
        let metadata = &self.image.metadata;
        let row = metadata.tables.row(token_table(token), token_row(token))?;
        match token_table(token) {
            table::TYPE_DEF => {
                use column::type_def::{FLAGS, NAME, NAMESPACE};
                // Nested types have a visibility of their own (II.23.1.15).
                let outer = match row.get(FLAGS) & 7 {
                    0 | 1 => None,
                    _ => self.image.enclosing(token_row(token)),
                };
                let outer = outer.map(|row| u32::from(table::TYPE_DEF) << 24 | row);
                self.name(outer, row.get(NAMESPACE), row.get(NAME), depth)
            }
            table::TYPE_REF => {
                use column::type_ref::{NAME, NAMESPACE, RESOLUTION_SCOPE};
                let scope = decode(&coded::RESOLUTION_SCOPE, row.get(RESOLUTION_SCOPE))?;
                let outer = (token_table(scope) == table::TYPE_REF && scope != 0).then_some(scope);
                self.name(outer, row.get(NAMESPACE), row.get(NAME), depth)
            }
            table::TYPE_SPEC => {
                let blob = metadata.blobs.get(row.get(column::type_spec::SIGNATURE))?;
                self.ty(&mut Reader::new(blob), depth + 1)
            }
            _ => Err(wrong("a token that names no type")),
        }
    }

    fn name(&mut self, outer: Option<u32>, namespace: u32, name: u32, depth: u32) -> Result<()> {
        let strings = &self.image.metadata.strings;
        if let Some(outer) = outer {
            self.token(outer, depth + 1)?;
            self.out.push('+');
        }
        let namespace = strings.text(namespace)?;
        if !namespace.is_empty() {
            self.out.push_str(&namespace);
            self.out.push('.');
        }
        self.out.push_str(&strings.text(name)?);
        Ok(())
    }
}

/// Appends what `f` writes, or `?` where the signature cannot be read.
fn put(image: &Image<'_>, out: &mut String, f: impl FnOnce(&mut Names<'_, '_, '_>) -> Result<()>) {
    put_sharing(image, None, out, f);
}

/// The same, where names of types may be shared.
fn put_sharing<'o>(
    image: &Image<'_>,
    shared: Option<&'o mut SharedNames>,
    out: &'o mut String,
    f: impl FnOnce(&mut Names<'_, '_, '_>) -> Result<()>,
) {
    let start = out.len();
    let mut names = Names {
        image,
        start,
        parts: 0,
        known: true,
        shared,
        referred: 0,
        out,
    };
    if f(&mut names).is_err() {
        out.truncate(start);
        out.push('?');
    }
}

/// Appends the name of a type, given its token: `Namespace.Outer+Nested`.
pub fn put_type_name(image: &Image<'_>, token: u32, out: &mut String) {
    put(image, out, |names| names.token(token, 0));
}

/// The same while the image's names are made; tells whether the name can be read.
pub fn put_new_type_name(image: &Image<'_>, token: u32, out: &mut String) -> bool {
    let mut names = Names {
        image,
        start: out.len(),
        parts: 0,
        known: false,
        shared: None,
        referred: 0,
        out,
    };
    names.token(token, 0).is_ok()
}

/// The type whose instance a `TypeSpec` is; other types are themselves.
pub fn definition(image: &Image<'_>, ty: u32) -> Option<u32> {
    if token_table(ty) != table::TYPE_SPEC {
        return Some(ty);
    }
    let metadata = &image.metadata;
    let row = metadata.tables.row(table::TYPE_SPEC, token_row(ty)).ok()?;
    let blob = metadata.blobs.get(row.get(column::type_spec::SIGNATURE));
    let mut reader = Reader::new(blob.ok()?);
    match reader.u8().ok()? {
        element::GENERICINST => {
            reader.u8().ok()?;
            reader.type_token().ok()
        }
        _ => None,
    }
}

/// Appends the readable form of a method's signature: `(System.String, !0[])System.Int32`.
pub fn put_descriptor(image: &Image<'_>, signature: u32, out: &mut String) {
    put(image, out, |names| names.descriptor(signature));
}

/// Most bytes of text that [`Descriptors`] keeps: methods that are alike lie together, and more would cost
/// memory for little.
const MAX_KEPT: usize = 64 << 10;

/// Descriptors of an image's methods. Compilers share blobs between signatures that are alike, so that each is asked
/// for several times.
#[derive(Default)]
pub struct Descriptors {
    text: String,
    /// Where the text of a blob lies.
    known: FxHashMap<u32, Range<u32>>,
    shares: bool,
    shared: SharedNames,
}

impl Descriptors {
    /// Forgets them: another image, or another part of it, comes. `shares`: texts refer to names of types, which
    /// [`Descriptors::take_names`] gives.
    pub fn begin(&mut self, shares: bool) {
        self.text.clear();
        self.known.clear();
        self.shares = shares;
        self.shared.names.clear();
        self.shared.numbers.clear();
    }

    /// The names that descriptors refer to.
    pub fn take_names(&mut self) -> bytes::Names {
        std::mem::take(&mut self.shared.names)
    }

    /// The descriptor of a signature; see [`put_descriptor`].
    pub fn get(&mut self, image: &Image<'_>, signature: u32) -> &str {
        if let Some(range) = self.known.get(&signature) {
            return &self.text[range.start as usize..range.end as usize];
        }
        if self.text.len() > MAX_KEPT {
            self.text.clear();
            self.known.clear();
        }
        let start = self.text.len();
        let shared = Some(&mut self.shared).filter(|_| self.shares);
        put_sharing(image, shared, &mut self.text, |names| {
            names.descriptor(signature)
        });
        let range = start as u32..self.text.len() as u32;
        self.known.insert(signature, range);
        &self.text[start..]
    }
}

/// Shows the types of a method's parameters.
pub fn parameters(image: &Image<'_>, signature: u32, each: &mut dyn FnMut(&str)) {
    let mut text = String::new();
    let Ok(method) = image
        .metadata
        .blobs
        .get(signature)
        .and_then(MethodSignature::parse)
    else {
        return;
    };
    let mut reader = Reader::new(method.parameters);
    for _ in 0..method.count {
        text.clear();
        let mut next = reader;
        if next.skip_type().is_err() {
            return;
        }
        put(image, &mut text, |names| names.ty(&mut reader, 0));
        reader = next;
        each(&text);
    }
}

/// Shows a method's return type.
pub fn returns(image: &Image<'_>, signature: u32, each: &mut dyn FnMut(&str)) {
    let blob = image.metadata.blobs.get(signature);
    if let Ok(method) = blob.and_then(MethodSignature::parse) {
        let mut text = String::new();
        put(image, &mut text, |names| {
            names.ty(&mut Reader::new(method.returns), 0)
        });
        each(&text);
    }
}
