//! Signatures (ECMA-335 II.23.2): taken apart, and as readable type names.

use crate::bytes;
use crate::cil::metadata::Metadata;
use crate::cil::metadata::heaps::compressed;
use crate::cil::metadata::schema::{coded, column, table};
use crate::cil::metadata::tables::{decode, encode, token, token_row, token_table};
use crate::error::{Error, Kind, Result};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::ops::Range;

/// Element types (II.23.1.16).
pub mod element {
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
    pub const FIELD: u8 = 0x06;
    pub const LOCALS: u8 = 0x07;
    pub const INSTANCE: u8 = 0x0a;
    pub const GENERIC: u8 = 0x10;
    pub const HAS_THIS: u8 = 0x20;
    pub const EXPLICIT_THIS: u8 = 0x40;
}

/// Deepest nesting of a type.
pub(crate) const MAX_DEPTH: u32 = 64;

/// Most parts of one signature, and most bytes of its text. Real ones stay far below; types that name each other could
/// make text without limit.
pub(crate) const MAX_PARTS: u32 = 10_000;
pub(crate) const MAX_TEXT: usize = 1 << 16;

#[cold]
fn wrong(what: &str) -> Error {
    Error::new(Kind::Malformed, what)
}

/// What was stepped over.
#[derive(Default)]
struct Seen {
    parts: u32,
    type_parameters: bool,
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

    pub(crate) fn u8(&mut self) -> Result<u8> {
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
    pub(crate) fn type_token(&mut self) -> Result<u32> {
        decode(&coded::TYPE_DEF_OR_REF, self.number()?)
    }

    /// Steps over custom modifiers.
    pub(crate) fn skip_modifiers(&mut self) -> Result<()> {
        while let [element::CMOD_REQD | element::CMOD_OPT, ..] = self.rest {
            self.u8()?;
            self.number()?;
        }
        Ok(())
    }

    /// Steps over one type, its modifiers included, and returns its bytes.
    pub fn skip_type(&mut self) -> Result<&'a [u8]> {
        let whole = self.rest;
        self.skip(0, &mut Seen::default())?;
        Ok(&whole[..whole.len() - self.rest.len()])
    }

    fn skip(&mut self, depth: u32, seen: &mut Seen) -> Result<()> {
        seen.parts += 1;
        if depth > MAX_DEPTH || seen.parts > MAX_PARTS {
            return Err(wrong("a type nested too deeply"));
        }
        let element = self.u8()?;
        seen.type_parameters |= matches!(element, element::VAR | element::MVAR);
        match element {
            element::PTR
            | element::BYREF
            | element::SZARRAY
            | element::PINNED
            | element::SENTINEL => self.skip(depth + 1, seen),
            element::VALUETYPE | element::CLASS | element::VAR | element::MVAR => {
                self.number().map(drop)
            }
            element::CMOD_REQD | element::CMOD_OPT => {
                self.number()?;
                self.skip(depth + 1, seen)
            }
            element::ARRAY => {
                self.skip(depth + 1, seen)?;
                self.skip_array_shape().map(drop)
            }
            element::GENERICINST => {
                self.u8()?;
                self.number()?;
                for _ in 0..self.number()? {
                    self.skip(depth + 1, seen)?;
                }
                Ok(())
            }
            element::FNPTR => {
                if self.u8()? & kind::GENERIC != 0 {
                    self.number()?;
                }
                for _ in 0..=self.number()? {
                    self.skip(depth + 1, seen)?;
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
    pub count: u32,
    /// The return type, its modifiers included.
    pub returns: &'a [u8],
    pub parameters: &'a [u8],
}

impl<'a> MethodSignature<'a> {
    /// Takes a `MethodDefSig` or `MethodRefSig` apart.
    pub fn parse(blob: &'a [u8]) -> Result<MethodSignature<'a>> {
        let mut reader = Reader::new(blob);
        let flags = reader.u8()?;
        if flags & kind::GENERIC != 0 {
            reader.number()?;
        }
        let count = reader.number()?;
        let returns = reader.skip_type()?;
        Ok(MethodSignature {
            flags,
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
    metadata: &'i Metadata<'a>,
    out: &'o mut String,
    start: usize,
    parts: u32,
    /// Whether the image's names of types are made.
    known: bool,
    /// Whose type parameters it names, a `TypeDef` or a `MethodDef` token; 0 for those that nobody gave names.
    owner: u32,
    /// Takes the numbers of the types that the text refers to instead of naming them.
    shared: Option<&'o mut Referred>,
    /// Bytes of the names that it refers to.
    referred: usize,
}

/// The types that texts refer to, by their numbers, which are the same in all texts of one file: first the
/// [`PRIMITIVES`], then definitions and references by their rows, then these again, without their arity.
#[derive(Default)]
pub struct Referred {
    numbers: bytes::Numbers,
}

impl Referred {
    /// All names up to the last that texts refer to, by their numbers; unused ones are empty.
    pub fn names(&self, metadata: &Metadata<'_>) -> bytes::Names {
        let mut names = bytes::Names::default();
        for number in 0..self.numbers.end() {
            let added: std::result::Result<_, ()> = names.add(|name| {
                if self.numbers.has(number) {
                    put_numbered(metadata, number, name);
                }
                Ok(())
            });
            debug_assert_eq!(added, Ok(number));
        }
        names
    }
}

/// The number of a definition or a reference.
fn number_of(metadata: &Metadata<'_>, ty: u32, has_arity: bool) -> u32 {
    let rows = |table| metadata.tables.rows(table);
    let (definitions, references) = (rows(table::TYPE_DEF), rows(table::TYPE_REF));
    let mut number = PRIMITIVES.len() as u32 + token_row(ty) - 1;
    if token_table(ty) != table::TYPE_DEF {
        number += definitions;
    }
    if !has_arity {
        number += definitions + references;
    }
    number
}

/// Appends the name that has a number.
fn put_numbered(metadata: &Metadata<'_>, number: u32, out: &mut String) {
    let Some(number) = number.checked_sub(PRIMITIVES.len() as u32) else {
        return out.push_str(PRIMITIVES[number as usize]);
    };
    let rows = |table| metadata.tables.rows(table);
    let (definitions, references) = (rows(table::TYPE_DEF), rows(table::TYPE_REF));
    let row = number % (definitions + references);
    let ty = match row.checked_sub(definitions) {
        None => token(table::TYPE_DEF, row + 1),
        Some(row) => token(table::TYPE_REF, row + 1),
    };
    let start = out.len();
    out.push_str(metadata.types().name(ty).unwrap_or("?"));
    if number != row {
        drop_arity(start, out);
    }
}

/// The names of the element types that stand for themselves.
const PRIMITIVES: [&str; 18] = [
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
    "System.TypedReference",
    "System.IntPtr",
    "System.UIntPtr",
    "System.Object",
];

/// The place of an element type among [`PRIMITIVES`].
fn primitive(element: u8) -> Option<usize> {
    match element {
        element::VOID..=element::STRING => Some(usize::from(element - 1)),
        element::TYPEDBYREF => Some(14),
        element::I => Some(15),
        element::U => Some(16),
        element::OBJECT => Some(17),
        _ => None,
    }
}

/// Takes the arity off the name that begins at `start` and ends the text: `` `2 ``.
fn drop_arity(start: usize, text: &mut String) {
    let name = &text[start..];
    let rest = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if rest.len() < name.len() && rest.ends_with('`') {
        text.truncate(start + rest.len() - 1);
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
        if let Some(number) = primitive(element) {
            let name = PRIMITIVES[number];
            if !self.refer_to(number as u32, name)? {
                self.out.push_str(name);
            }
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
                let number = reader.number()?;
                self.type_parameter(element, number);
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
                    let start = self.out.len();
                    self.token(token, depth + 1)?;
                    // The arguments say how many there are.
                    drop_arity(start, self.out);
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

    /// The name of a type parameter, or what IL has in its place (ECMA-335 II.7.1).
    fn type_parameter(&mut self, element: u8, number: u32) {
        use std::fmt::Write;
        let name = type_parameter(self.metadata, self.owner, element, number);
        match name {
            Some(name) => self.out.push_str(&name),
            None => {
                let mark = if element == element::VAR { "!" } else { "!!" };
                write!(self.out, "{mark}{number}").expect("a string takes all");
            }
        }
    }

    /// Parameters and return type of a method's signature (a blob).
    fn descriptor(&mut self, signature: u32) -> Result<()> {
        let blob = self.metadata.blobs.get(signature)?;
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

    /// Refers to a definition or a reference instead of naming it, if names are shared and it has one.
    fn refer(&mut self, ty: u32, has_arity: bool) -> Result<bool> {
        if self.shared.is_none() {
            return Ok(false);
        }
        match self.metadata.types().name(ty) {
            Some(name) => self.refer_to(number_of(self.metadata, ty, has_arity), name),
            None => Ok(false),
        }
    }

    fn refer_to(&mut self, number: u32, name: &str) -> Result<bool> {
        let Some(shared) = &mut self.shared else {
            return Ok(false);
        };
        self.referred += name.len();
        if self.referred > MAX_TEXT {
            return Err(wrong("a type nested too deeply"));
        }
        shared.numbers.add(number);
        bytes::Names::refer(number, self.out);
        Ok(true)
    }

    /// A `TypeDef`, `TypeRef` or `TypeSpec`.
    fn token(&mut self, token: u32, depth: u32) -> Result<()> {
        self.step(depth)?;
        if self.refer(token, true)? {
            return Ok(());
        }
        if self.known
            && let Some(name) = self.metadata.types().name(token)
        {
            self.out.push_str(name);
            return Ok(());
        }
        let metadata = self.metadata;
        let row = metadata.tables.row(token_table(token), token_row(token))?;
        match token_table(token) {
            table::TYPE_DEF => {
                use column::type_def::{FLAGS, NAME, NAMESPACE};
                // Nested types have a visibility of their own (II.23.1.15).
                let outer = match row.get(FLAGS) & 7 {
                    0 | 1 => None,
                    _ => self.metadata.enclosing(token_row(token)),
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
        let strings = &self.metadata.strings;
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

/// The name of a type parameter of a type or of a method (a token), or of the method's type.
fn type_parameter<'a>(
    metadata: &Metadata<'a>,
    owner: u32,
    element: u8,
    number: u32,
) -> Option<Cow<'a, str>> {
    use column::generic_param::{NAME, NUMBER, OWNER};
    let owner = match (token_table(owner), element) {
        (table::METHOD_DEF, element::VAR) => {
            token(table::TYPE_DEF, metadata.owner_of_method(token_row(owner))?)
        }
        (table::METHOD_DEF, _) | (table::TYPE_DEF, element::VAR) => owner,
        _ => return None,
    };
    let key = encode(&coded::TYPE_OR_METHOD_DEF, owner)?;
    let tables = &metadata.tables;
    let mut parameters = tables.with_key(table::GENERIC_PARAM, OWNER, key);
    let (_, row) = parameters.find(|(_, row)| row.get(NUMBER) == number)?;
    let name = metadata.strings.text(row.get(NAME)).ok()?;
    let is_name = !name.is_empty() && !name.contains(char::is_control);
    is_name.then_some(name)
}

/// Whether a signature names type parameters: its text then depends on its owner.
pub fn names_type_parameters(blob: &[u8]) -> bool {
    // Most have none of these bytes.
    if memchr::memchr2(element::VAR, element::MVAR, blob).is_none() {
        return false;
    }
    let mut seen = Seen::default();
    let mut reader = Reader::new(blob);
    // As far as it can be read.
    let _ = reader.u8().and_then(|flags| {
        if flags & kind::GENERIC != 0 {
            reader.number()?;
        }
        for _ in 0..=reader.number()? {
            reader.skip(0, &mut seen)?;
        }
        Ok(())
    });
    seen.type_parameters
}

/// Appends what `f` writes, or `?` where the signature cannot be read.
fn put(
    metadata: &Metadata<'_>,
    owner: u32,
    out: &mut String,
    f: impl FnOnce(&mut Names<'_, '_, '_>) -> Result<()>,
) {
    put_sharing(metadata, owner, None, out, f);
}

/// The same, where names of types may be shared.
fn put_sharing<'o>(
    metadata: &Metadata<'_>,
    owner: u32,
    shared: Option<&'o mut Referred>,
    out: &'o mut String,
    f: impl FnOnce(&mut Names<'_, '_, '_>) -> Result<()>,
) {
    let start = out.len();
    let mut names = Names {
        metadata,
        start,
        parts: 0,
        known: true,
        owner,
        shared,
        referred: 0,
        out,
    };
    if f(&mut names).is_err() {
        out.truncate(start);
        out.push('?');
    }
}

/// Appends the name of a type, given its token: `Namespace.Outer+Nested`. `owner` is the type whose type parameters it
/// may name, a token, or 0.
pub fn put_type_name(metadata: &Metadata<'_>, owner: u32, token: u32, out: &mut String) {
    put(metadata, owner, out, |names| names.token(token, 0));
}

/// Appends the readable form of a type of a signature.
pub(crate) fn put_type(metadata: &Metadata<'_>, ty: &[u8], out: &mut String) {
    put(metadata, 0, out, |names| names.ty(&mut Reader::new(ty), 0));
}

/// The same while the image's names are made; returns whether the name can be read.
pub fn put_new_type_name(metadata: &Metadata<'_>, token: u32, out: &mut String) -> bool {
    let mut names = Names {
        metadata,
        start: out.len(),
        parts: 0,
        known: false,
        owner: 0,
        shared: None,
        referred: 0,
        out,
    };
    names.token(token, 0).is_ok()
}

/// The type whose instance a `TypeSpec` is; other types are themselves.
pub fn definition(metadata: &Metadata<'_>, ty: u32) -> Option<u32> {
    if token_table(ty) != table::TYPE_SPEC {
        return Some(ty);
    }
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

/// Appends the readable form of the signature of a method (a `MethodDef` row): `(System.String, T[])System.Int32`.
pub fn put_descriptor(metadata: &Metadata<'_>, method: u32, signature: u32, out: &mut String) {
    let owner = token(table::METHOD_DEF, method);
    put(metadata, owner, out, |names| names.descriptor(signature));
}

/// The same, referring to the names of types.
pub fn put_referring_descriptor(
    metadata: &Metadata<'_>,
    method: u32,
    signature: u32,
    referred: &mut Referred,
    out: &mut String,
) {
    let owner = token(table::METHOD_DEF, method);
    put_sharing(metadata, owner, Some(referred), out, |names| {
        names.descriptor(signature)
    });
}

/// Most bytes of text that [`Descriptors`] keeps: methods that are alike lie together, and more would cost
/// memory for little.
const MAX_KEPT: usize = 64 << 10;

/// Descriptors of an image's methods. Compilers share blobs between equal signatures, so most are needed several times.
#[derive(Default)]
pub struct Descriptors {
    text: String,
    /// The last one that names type parameters: another method's is another.
    own: String,
    /// Where the text of a blob lies.
    known: FxHashMap<u32, Range<u32>>,
}

impl Descriptors {
    /// Forgets all, for another part or file.
    pub fn begin(&mut self) {
        self.text.clear();
        self.known.clear();
    }

    /// The descriptor of a method; see [`put_descriptor`].
    pub fn get(&mut self, metadata: &Metadata<'_>, method: u32, signature: u32) -> &str {
        let blob = metadata.blobs.get(signature);
        if blob.is_ok_and(names_type_parameters) {
            self.own.clear();
            put_descriptor(metadata, method, signature, &mut self.own);
            return &self.own;
        }
        if let Some(range) = self.known.get(&signature) {
            return &self.text[range.start as usize..range.end as usize];
        }
        if self.text.len() > MAX_KEPT {
            self.text.clear();
            self.known.clear();
        }
        let start = self.text.len();
        put_descriptor(metadata, method, signature, &mut self.text);
        let range = start as u32..self.text.len() as u32;
        self.known.insert(signature, range);
        &self.text[start..]
    }
}

/// Shows the types of a method's parameters.
pub fn parameters(
    metadata: &Metadata<'_>,
    method: u32,
    signature: u32,
    each: &mut dyn FnMut(&str),
) {
    let mut text = String::new();
    let blob = metadata.blobs.get(signature);
    let Ok(parsed) = blob.and_then(MethodSignature::parse) else {
        return;
    };
    let owner = token(table::METHOD_DEF, method);
    let mut reader = Reader::new(parsed.parameters);
    for _ in 0..parsed.count {
        text.clear();
        let mut next = reader;
        if next.skip_type().is_err() {
            return;
        }
        put(metadata, owner, &mut text, |names| names.ty(&mut reader, 0));
        reader = next;
        each(&text);
    }
}

/// Shows a method's return type.
pub fn returns(metadata: &Metadata<'_>, method: u32, signature: u32, each: &mut dyn FnMut(&str)) {
    let blob = metadata.blobs.get(signature);
    if let Ok(parsed) = blob.and_then(MethodSignature::parse) {
        let mut text = String::new();
        let owner = token(table::METHOD_DEF, method);
        put(metadata, owner, &mut text, |names| {
            names.ty(&mut Reader::new(parsed.returns), 0)
        });
        each(&text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cil::image::Image;
    use crate::cil::testing::SHAPES;

    #[test]
    fn descriptors_that_refer_to_types_say_the_same() {
        let image = Image::parse(SHAPES).unwrap();
        let methods: Vec<(u32, u32)> = (image.metadata.tables.iter(table::METHOD_DEF))
            .map(|row| row.get(column::method_def::SIGNATURE))
            .zip(1..)
            .collect();
        let mut referred = Referred::default();
        let put = |&(signature, method): &(u32, u32)| {
            let mut text = String::new();
            put_referring_descriptor(&image.metadata, method, signature, &mut referred, &mut text);
            text
        };
        let referring: Vec<String> = methods.iter().map(put).collect();
        let names = referred.names(&image.metadata);
        assert!(names.iter().any(|name| name == "System.Void"));
        assert!(names.iter().any(|name| name.is_empty()));
        for ((signature, method), text) in methods.into_iter().zip(referring) {
            let (mut whole, mut plain) = (String::new(), String::new());
            assert_eq!(names.expand(&text, MAX_TEXT, &mut whole), Some(()));
            put_descriptor(&image.metadata, method, signature, &mut plain);
            assert_eq!(whole, plain);
        }
    }
}
